// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Groups of workers around the real hub in one world.

#ifndef TENSORHUB_TOOLS_SIM_FLEET_H_
#define TENSORHUB_TOOLS_SIM_FLEET_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/sim/core_worker.h"
#include "tools/sim/fleet_worker.h"
#include "tools/sim/flow_worker.h"
#include "tools/sim/frame_network.h"
#include "tools/sim/hub_port.h"
#include "tools/sim/topology.h"
#include "tools/sim/world.h"

namespace tensorhub::sim {

enum class AgentModel { kFlow, kCore };

struct FleetOptions {
  AgentModel agents = AgentModel::kFlow;
  HubPortOptions hub;
  // Both cut one model; the fleet makes the layouts. If their groups have as many ranks, they are
  // alike.
  ShardOptions trainers;
  ShardOptions rollouts;
  AgentTimes times;
};

// Names one group: the place in which it was added.
using GroupIndex = uint32_t;

class Fleet {
 public:
  // All outlive it.
  Fleet(const FleetOptions& options, const Topology& topology, World& world);

  // On `first_gpu` and those that follow. `holds_old`: it has version 1, as after an earlier step
  // (flow workers only).
  GroupIndex AddTrainers(const std::string& name, uint32_t first_gpu);
  GroupIndex AddRollouts(const std::string& name, uint32_t first_gpu, bool holds_old);

  void Publish(GroupIndex group, VersionNumber version);
  void Fetch(GroupIndex group, VersionNumber newer_than);
  void Die(GroupIndex group);
  void Leave(GroupIndex group);

  // Called when the last rank of a group's fetch has heard of its end.
  void OnFetched(std::function<void(GroupIndex)> action) { on_fetched_ = std::move(action); }

  bool Holds(GroupIndex group, VersionNumber version) const;
  bool IsGone(GroupIndex group) const { return workers_[groups_[group].first]->gone(); }
  std::vector<const FleetWorker*> WorkersOf(GroupIndex group) const;
  const FrameNetwork& frames() const { return frames_; }
  const HubPort& hub() const { return hub_; }
  size_t groups() const { return groups_.size(); }

 private:
  struct Group {
    size_t first = 0;  // of its workers
    uint32_t ranks = 0;
    uint32_t fetched = 0;
  };
  GroupIndex Add(const SimContext& side, const std::string& name, uint32_t first_gpu,
                 bool holds_old);
  template <typename Visit>
  void ForEach(GroupIndex group, Visit visit);
  std::unique_ptr<FleetWorker> MakeWorker(const SimContext& side, WorkerFacts facts);
  void RankFetched(GroupIndex group);

  FleetOptions options_;
  World& world_;
  HubPort hub_;
  const SimContext trainers_;
  const SimContext rollouts_;
  FlowWorker::Register flow_workers_;
  CoreWorker::Register core_workers_;
  FrameNetwork frames_;
  std::vector<std::unique_ptr<FleetWorker>> workers_;  // group after group, rank after rank
  std::vector<Group> groups_;
  std::function<void(GroupIndex)> on_fetched_;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_FLEET_H_
