// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One worker as the hub and the network see it: it does what worker_agent/core does, in the same
// order (join, unpublish, begin, read, report, finish), but its bytes advance as a flow instead of
// frame by frame. What the agent decides per frame (windows, confirmations) is in the hop's
// latency.

#ifndef TENSORHUB_TOOLS_SIM_SIM_WORKER_H_
#define TENSORHUB_TOOLS_SIM_SIM_WORKER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/core/events.h"
#include "tools/sim/hub_port.h"
#include "tools/sim/topology.h"
#include "tools/sim/world.h"

namespace tensorhub::sim {

struct ShardOptions {
  std::string model = "sim";
  uint32_t world_size = 1;
  double bytes = 0;
  uint64_t chunk_bytes = 0;
  Fingerprint layout;
};

struct AgentTimes {
  Nanos progress_every = 100 * kMillisecond;
  Nanos heartbeat_every = kSecond;
  // After which a reader takes a silent source for dead.
  Nanos silence = kSecond;
  // Before a fetch that failed is tried again.
  Nanos retry = 100 * kMillisecond;
};

struct FetchRecord {
  Nanos asked = 0;
  Nanos began = 0;  // the buffers were given up
  Nanos done = 0;   // 0: not (yet)
  uint32_t failures = 0;
  uint32_t redirects = 0;
};

class SimWorker {
 public:
  // What all workers of a fleet share; outlives them.
  struct Surroundings {
    World& world;
    HubPort& hub;
    const Topology& topology;
    const ShardOptions& shard;
    const AgentTimes& times;
    // Whose incarnation is this; null if it is gone.
    std::function<SimWorker*(Incarnation)> find;
    std::vector<SimWorker*>& owners;  // by FillId
    std::function<void(SimWorker&)> fetched;
  };

  SimWorker(Surroundings& around, uint32_t number, hub::WorkerIdentity identity, uint32_t gpu,
            bool stable);

  // Joins the hub at once, holding this publication whole if there is one.
  void Open(const std::optional<PublicationId>& held, Version version);
  void Publish(Version version);
  void Fetch(Version newer_than);
  // Without a word: readers find out by its silence, the hub by its lease.
  void Die();
  void Leave();

  void OnHub(const hub::Effect& effect);
  void OnWhole();
  // The source of that assignment is gone or changed.
  void OnSourceLost(hub::AssignmentNumber assignment, const char* why);

  const hub::WorkerIdentity& identity() const { return identity_; }
  uint32_t gpu() const { return gpu_; }
  FillId fill() const { return fill_; }
  Generation generation() const { return generation_; }
  bool gone() const { return phase_ == Phase::kGone; }
  Version holds() const { return held_; }
  const FetchRecord& record() const { return record_; }

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
  void OnJoined(const hub::Reply& reply);
  void OnFinished(const hub::Reply& reply);
  void BeginRead();
  void On(const hub::Assign& assign);
  void On(const hub::AbortRead& abort);
  void On(const hub::Probe& probe);
  template <typename Other>
  void On(const Other&) {}
  void Finish(absl::Status result);
  void TellProgress();
  void ProgressLater(hub::AssignmentNumber assignment);
  void HeartbeatLater();
  void NewFill(bool whole);
  // Nobody gets bytes from these buffers any more; their readers notice after `delay`.
  void StopServing(Nanos delay, const char* why);

  Surroundings& around_;
  const uint32_t number_;
  const hub::WorkerIdentity identity_;
  const uint32_t gpu_;
  const bool stable_;
  Phase phase_ = Phase::kIdle;
  OpId op_ = 0;
  FillId fill_ = 0;
  Generation generation_ = 1;
  Version held_ = 0;
  Version publishing_ = 0;
  Version newer_than_ = 0;
  std::optional<hub::FetchDecision> decision_;
  std::optional<hub::Assign> assigned_;
  FetchRecord record_;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_SIM_WORKER_H_
