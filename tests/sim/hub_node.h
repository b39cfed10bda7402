// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The server's process: the real hub, its streams and calls as server/rpc hands them to it, and its
// lives. What survives a crash is what its disk keeps; a hub without a disk starts with nothing.

#ifndef TENSORHUB_TESTS_SIM_HUB_NODE_H_
#define TENSORHUB_TESTS_SIM_HUB_NODE_H_

#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "server/core/hub.h"
#include "server/store/identity.h"
#include "tests/sim/scene.h"

namespace tensorhub::fault {

inline constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

// One session's stream. What would arrive at or after a cut does not.
struct Stream {
  Process* process = nullptr;
  hub::SessionId session = 0;
  uint32_t life = 0;  // of the hub
  Nanos up_cut = kNever;
  Nanos down_cut = kNever;
  Nanos last_up = 0;
  Nanos last_down = 0;
  bool known_to_hub = false;
};

// One attempt of a unary call.
struct CallRecord {
  enum class Kind { kOperation, kPut, kWait };
  Process* process = nullptr;
  Kind kind = Kind::kOperation;
  OpId op = 0;
  uint32_t life = 0;
  Nanos up_cut = kNever;
  Nanos down_cut = kNever;
  Nanos arrival = 0;
  bool at_hub = false;        // and not answered
  Generation generation = 0;  // of a publish or an unpublish
  // Of a publish: what is published.
  VersionNumber version = 0;
  ContentId content = 0;
  bool supersede = false;
  VersionSelector selector;   // of a JoinFetch
  TransactionId transaction;  // of a FinishRead
};

class HubNode {
 public:
  // HubOptions::cut_off_ms.
  static constexpr TimeMs kCutOffMs = 20'000;

  explicit HubNode(Scene& scene) : scene_(scene) {}

  void Start();
  // Its processes' streams break; `data_lost`: the next life is another hub.
  void Crash(bool data_lost);
  void JumpClock(Nanos by);
  bool up() const { return hub_ != nullptr; }
  Node& node() { return *nodes_.back(); }
  hub::Hub& core() { return *hub_; }
  uint32_t life() const { return static_cast<uint32_t>(nodes_.size()); }
  const ServerIdentity& identity() const { return identity_; }
  TimeMs NowMs() { return node().LocalMs(scene_.agenda.now()); }
  // It began with the rows that an earlier life of it had kept.
  bool has_rows() const { return options_.recovering; }
  TimeMs lease_ms() const { return options_.lease_ms; }
  // What is on its disk.
  const hub::DurableState& kept() const { return kept_; }

  // Made by the workers' side.
  Stream& NewStream(Process& process);
  hub::CallId NewCall(const CallRecord& record);
  CallRecord& call(hub::CallId id) { return calls_[id - 1]; }
  Stream& stream(hub::SessionId id) { return streams_[id - 1]; }
  bool IsOpen(hub::SessionId id) const { return id != 0 && streams_[id - 1].known_to_hub; }

  // What arrives, on behalf of its node.
  void OpenSession(Stream& stream, const hub::SessionOpened& opened, const ServerIdentity& known);
  void FromSession(Stream& stream, const hub::Event& event);
  void CloseSession(Stream& stream);
  void StartCall(hub::CallId id, const hub::Event& event);
  void CancelCall(hub::CallId id);
  // By an operator, whom nothing hinders.
  void Drain(const WorkerKey& worker, bool undo);

 private:
  // When it has told some of those who are to hear of an event, and perhaps not all.
  void CrashInAMoment();
  // To the caller, or to a source, soon after.
  void KillInAMoment(Process& process);
  void Apply(const hub::Event& event, Process* from);
  void CarryOut(const hub::Reply& reply);
  void CarryOut(const hub::Directive& directive);
  void CarryOut(const hub::CloseSession& close);
  // The disk is as fast as the hub: what is said after this is heard after it was kept.
  void CarryOut(const hub::Persist& rows) { hub::Keep(rows, kept_); }
  void CarryOut(const hub::ModelChange&) {}
  void CarryOut(const hub::LogLine& line);
  void CarryOut(const hub::PlanWanted& wanted);
  void TickLater();
  absl::Status CheckIdentity(const ServerIdentity& known) const;
  void AdoptInAWhile();

  Scene& scene_;
  ServerIdentity identity_;
  hub::DurableState kept_;  // on its disk
  std::set<Id128> lost_;    // the stores whose data went
  hub::HubOptions options_;
  std::unique_ptr<hub::Hub> hub_;
  std::vector<std::unique_ptr<Node>> nodes_;  // one a life; the last is the present one
  std::deque<Stream> streams_;
  std::deque<CallRecord> calls_;
  std::optional<TimeMs> tick_;
  hub::Effects effects_;
  uint64_t until_check_ = 0;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_HUB_NODE_H_
