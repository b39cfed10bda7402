// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The messages between workers: connections that deliver in order or break, memory that is read
// some time between a send and its completion, whole or in two parts, and everything that can
// happen to them. Like worker_agent's message peers above UCX.

#ifndef TENSORHUB_TESTS_SIM_WIRE_H_
#define TENSORHUB_TESTS_SIM_WIRE_H_

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/sim/memory.h"
#include "tests/sim/scene.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::fault {

class Wire {
 public:
  explicit Wire(Scene& scene) : scene_(scene) {}

  void Open(Process& from, const agent::OpenPeer& effect);
  void Close(Process& from, Incarnation peer);
  void Part(Process& from, const agent::PartFrom& effect);
  void Send(Process& from, const agent::SendMessage& effect);
  void Send(Process& from, const agent::SendData& effect);
  void Send(Process& from, const agent::SendDescription& effect);
  bool IsOpen(const Process& from, Incarnation peer) const;

  // Faults. Places outlive the processes in them.
  void Block(size_t from_place, size_t to_place);
  void Unblock(size_t from_place, size_t to_place);
  void UnblockAll();
  void Break(Process& a, Process& b);
  // Its connections end, and what was or will be sent on those to it is lost; no side is told.
  void Forget(Process& process);
  // After its node has died. `told`: its host says so to those who were connected.
  void OnKilled(Process& process, bool told);

 private:
  struct Connection {
    Process* from = nullptr;
    Process* to = nullptr;  // nullptr: nobody is there
    Incarnation peer = 0;   // whom `from` believes to reach
    bool open = true;
    Nanos cut = std::numeric_limits<Nanos>::max();  // what arrives later does not
    Nanos last_arrival = 0;
    std::vector<uint64_t> sends;  // tokens without completion
    std::vector<Action> parked;   // by a partition
  };
  struct Frame {
    Connection* connection = nullptr;
    std::string header;
    Cells cells;
    uint64_t payload_bytes = 0;
    std::string description;
  };
  using FramePtr = std::shared_ptr<Frame>;

  Connection* Find(const Process& from, Incarnation peer) const;
  Process* Resolve(const std::string& endpoint) const;
  bool Blocked(const Connection& connection) const;
  // When the link lets it: now, or after the partition, in order.
  void Pass(Connection& connection, Action action);
  Nanos Latency(const Connection& connection);
  void Arrive(const FramePtr& frame, Nanos earliest);
  void Hand(const FramePtr& frame);
  void Complete(Connection& connection, uint64_t token, const absl::Status& status, Nanos delay);
  void SendParts(const FramePtr& frame, const agent::ByteRanges& ranges, uint64_t token);
  void End(Connection& connection, const absl::Status& why);
  void Fail(Connection& connection, Nanos notice);
  void Release(Connection& connection);

  Scene& scene_;
  std::deque<Connection> connections_;
  std::map<std::pair<uint32_t, Incarnation>, Connection*> open_;  // by the number of who opened
  std::set<std::pair<size_t, size_t>> blocked_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_WIRE_H_
