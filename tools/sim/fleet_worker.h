// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A worker of a fleet, however it is modelled: with prefixes that advance as flows (flow_worker.h),
// or as the agent's own state machine, frame by frame (core_worker.h).

#ifndef TENSORHUB_TOOLS_SIM_FLEET_WORKER_H_
#define TENSORHUB_TOOLS_SIM_FLEET_WORKER_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/effects.h"
#include "server/core/events.h"
#include "tools/sim/hub_port.h"
#include "tools/sim/topology.h"
#include "tools/sim/world.h"

namespace tensorhub::sim {

// How the groups of one side, trainers or rollouts, cut the model.
struct ShardOptions {
  std::string model = "sim";
  uint32_t world_size = 1;
  double bytes = 0;  // of each rank
  uint64_t chunk_bytes = 0;
  std::vector<Fingerprint> layouts;  // by rank
};

struct AgentTimes {
  Nanos heartbeat_every = kSecond;
  // After which a reader takes a silent source for dead.
  Nanos silence = kSecond;
  // Before a fetch that failed is tried again.
  Nanos retry = 100 * kMillisecond;
};

// What is noted of the newest fetch.
struct FetchRecord {
  Nanos asked = 0;
  Nanos done = 0;  // 0: not yet
  uint32_t failures = 0;
  uint32_t redirects = 0;
};

// What all workers of a fleet share; outlives them.
struct SimContext {
  World& world;
  HubPort& hub;
  const Topology& topology;
  const ShardOptions& shard;
  const AgentTimes& times;
};

// Which of them this is.
struct WorkerFacts {
  uint32_t number = 0;
  WorkerIdentity identity;
  uint32_t gpu = 0;
  bool stable = true;
};

class FleetWorker {
 public:
  FleetWorker(const SimContext& around, WorkerFacts facts)
      : around_(around), facts_(std::move(facts)) {}
  virtual ~FleetWorker() = default;
  FleetWorker(const FleetWorker&) = delete;
  FleetWorker& operator=(const FleetWorker&) = delete;

  // Joins the hub at once, holding this publication whole if there is one.
  virtual void Open(const std::optional<PublicationId>& held, VersionNumber version) = 0;
  virtual void Publish(VersionNumber version) = 0;
  virtual void Fetch(VersionNumber newer_than) = 0;
  // Without a word: readers find out by its silence, the hub by its lease.
  virtual void Die() = 0;
  virtual void Leave() = 0;
  // A Reply or a Directive.
  virtual void OnHub(const hub::Effect& effect) = 0;

  virtual bool gone() const = 0;

  const WorkerFacts& facts() const { return facts_; }
  VersionNumber holds() const { return held_; }
  const FetchRecord& record() const { return record_; }

  // Called when a fetch has succeeded.
  std::function<void()> on_fetched;

 protected:
  hub::SessionId session() const { return HubPort::SessionOf(facts_.number); }
  hub::SessionOpened Opening() const {
    hub::SessionOpened opened;
    opened.session = session();
    opened.worker = facts_.identity;
    opened.number = 1;
    opened.world_size = around_.shard.world_size;
    opened.location = around_.topology.LocationOf(facts_.gpu);
    opened.stable = facts_.stable;
    opened.knows_streams = opened.knows_resharding = true;
    opened.read_key = CapabilityKey::Guessable(facts_.identity.incarnation);
    return opened;
  }
  Fingerprint layout() const { return around_.shard.layouts[facts_.identity.key.rank]; }

  const SimContext& around_;
  const WorkerFacts facts_;
  VersionNumber held_ = 0;
  FetchRecord record_;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_FLEET_WORKER_H_
