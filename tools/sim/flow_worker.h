// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One worker as the hub and the network see it: it does what worker_agent/core does, in the same
// order (join, unpublish, begin, read, report, finish), but its bytes advance as a flow instead of
// frame by frame. What the agent decides per frame (windows, confirmations) is in the hop's
// latency.

#ifndef TENSORHUB_TOOLS_SIM_FLOW_WORKER_H_
#define TENSORHUB_TOOLS_SIM_FLOW_WORKER_H_

#include <optional>
#include <vector>

#include "tools/sim/fleet_worker.h"

namespace tensorhub::sim {

class FlowWorker : public FleetWorker {
 public:
  // Who is who among the flow workers of a fleet; outlives them.
  struct Register {
    std::vector<FlowWorker*> by_number;
    std::vector<FlowWorker*> by_fill;
  };

  FlowWorker(const SimContext& around, WorkerFacts facts, Register& others);

  void Open(const std::optional<PublicationId>& held, VersionNumber version) override;
  void Publish(VersionNumber version) override;
  void Fetch(VersionNumber newer_than) override;
  void Die() override;
  void Leave() override;
  void OnHub(const hub::Effect& effect) override;
  bool gone() const override { return phase_ == Phase::kGone; }

  // The network's word that fill() is whole.
  void OnWhole();

 private:
  enum class Phase {
    kIdle,
    kPublishing,
    kJoining,
    kUnpublishing,
    kBeginning,
    kReading,
    kFinishing,
    kLeaving,
    kGone
  };

  template <typename Op>
  void Call(Op op, Phase phase);
  void OnReply(const hub::Reply& reply);
  hub::PublishOp PublishOf(VersionNumber version) const;
  void OnPublished(const hub::Reply& reply);
  void OnJoined(const hub::Reply& reply);
  void OnFinished(const hub::Reply& reply);
  void OnLeft();
  void BeginRead(bool begun);
  void On(const hub::SourceSharding& sharding);
  void On(const hub::Assign& assign);
  void On(const hub::AbortRead& abort);
  void On(const hub::Probe& probe);
  template <typename Other>
  void On(const Other&) {}
  // The source of that assignment is gone or changed.
  void OnSourceLost(AssignmentNumber assignment, const char* why);
  void Finish(absl::Status result);
  void TellProgress();
  void ProgressLater(uint64_t attached, TimeMs every);
  void HeartbeatAfter(Nanos delay);
  void NewFill(bool whole);
  // Nobody gets bytes from these buffers any more; their readers notice after `delay`.
  void StopServing(Nanos delay, const char* why);
  FlowWorker* Find(const hub::Assign& assign) const;
  bool IsReading(const TransactionId& transaction) const;
  // Reads, if each part has a source that is there.
  void Attach();
  // Releases what it was assigned; what comes is in so many parts.
  void LeaveAll(size_t parts);
  void Forget() { assigned_.assign(1, std::nullopt); }
  // The path of a reader that keeps step with all of its sources.
  Path PathFrom(const std::vector<FlowWorker*>& sources) const;
  double ShareOf(const FlowWorker& source) const;
  Nanos now() const { return around_.world.now(); }

  Register& others_;
  Phase phase_ = Phase::kIdle;
  OpId op_ = 0;
  FillId fill_ = 0;
  Generation generation_ = 1;
  VersionNumber publishing_ = 0;
  VersionNumber newer_than_ = 0;
  std::optional<hub::FetchDecision> decision_;
  std::vector<std::optional<hub::Assign>> assigned_{1};  // by part
  uint64_t attached_ = 0;                                // how often
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_FLOW_WORKER_H_
