// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The hub as the workers of a world reach it: the real state machine, behind a control network with
// a latency and a server that handles one event after the other.

#ifndef TENSORHUB_TOOLS_SIM_HUB_PORT_H_
#define TENSORHUB_TOOLS_SIM_HUB_PORT_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/core/hub.h"
#include "tools/sim/world.h"

namespace tensorhub::sim {

struct HubPortOptions {
  hub::HubOptions hub;
  Nanos latency = 200 * kMicrosecond;  // one way
  // Times of the server, for an operation, and for a message that needs no answer.
  Nanos operation_time = 5 * kMicrosecond;
  Nanos message_time = 2 * kMicrosecond;
};

class HubPort {
 public:
  HubPort(const HubPortOptions& options, World& world);

  static constexpr int kOpBits = 24;
  // Sessions and calls are numbered by their owner: SessionId is its number, CallId carries it.
  static hub::SessionId SessionOf(uint32_t owner) { return owner + 1; }
  static hub::CallId CallOf(uint32_t owner, OpId op) {
    return (hub::CallId{owner} << kOpBits) | op;
  }

  static OpId OpOf(hub::CallId call) { return call & ((hub::CallId{1} << kOpBits) - 1); }

  // What the hub says to an owner: a Reply or a Directive.
  using Receiver = std::function<void(uint32_t owner, const hub::Effect& effect)>;
  void SetReceiver(Receiver receiver) { receiver_ = std::move(receiver); }

  // Arrives a latency later and is answered another one later.
  void Send(hub::Event event);
  // At once and without an answer's delay: how the scene is set.
  void Apply(const hub::Event& event);

  const hub::Hub& hub() const { return hub_; }
  uint64_t events() const { return events_; }
  uint64_t warnings() const { return warnings_; }
  const std::string& last_warning() const { return last_warning_; }
  // Time of this machine, in the state machine; differs from run to run.
  double cpu_seconds() const { return cpu_seconds_; }

 private:
  TimeMs NowMs() const { return world_.now() / kMillisecond; }
  Nanos TimeOf(const hub::Event& event) const;
  void Serve(const hub::Event& event);
  void Deliver(const hub::Effect& effect);
  void SetTimer();
  void Plan(const hub::PlanWanted& wanted);

  const HubPortOptions options_;
  World& world_;
  hub::Hub hub_;
  Receiver receiver_;
  std::map<Fingerprint, std::shared_ptr<const Layout>> layouts_;
  Nanos free_at_ = 0;
  std::optional<TimeMs> timer_;
  uint64_t events_ = 0;
  uint64_t warnings_ = 0;
  std::string last_warning_;
  double cpu_seconds_ = 0;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_HUB_PORT_H_
