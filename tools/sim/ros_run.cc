// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/ros_run.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/sim/fleet.h"

namespace tensorhub::sim {
namespace {

constexpr VersionNumber kNewVersion = 2;
constexpr VersionNumber kOldVersion = 1;
// Rollouts that wait have joined by then.
constexpr Nanos kPublishAt = kSecond;
// Nobody waits that long; a run that gets there is stuck.
constexpr Nanos kEnd = 4 * 3600 * kSecond;
// The check's time grows with the square.
constexpr size_t kCheckedGroupsMax = 200;

class RosRun {
 public:
  RosRun(const ScaleOptions& options, const Workload& workload)
      : options_(options),
        workload_(workload),
        world_(options.ahead_bytes),
        topology_(options.topology, world_.network()),
        fleet_(FleetOptionsOf(options), topology_, world_) {}

  RosResult Run() {
    for (const uint32_t gpu : workload_.publishers) AddPublisher(gpu);
    result_.done.resize(workload_.rollouts.size());
    open_ = workload_.rollouts.size();
    for (size_t i = 0; i < workload_.rollouts.size(); ++i) AddRollout(i);
    fleet_.OnFetched([this](GroupIndex group) {
      const size_t rollout = rollout_of_[group];
      if (result_.done[rollout] || fleet_.IsGone(group)) return;
      result_.done[rollout] = world_.now() - kPublishAt;
      --open_;
    });
    world_.Run(kEnd, [this] { return open_ == 0; });
    if (fleet_.groups() <= kCheckedGroupsMax) fleet_.hub().hub().CheckInvariants();
    Summarise();
    return std::move(result_);
  }

 private:
  static FleetOptions FleetOptionsOf(const ScaleOptions& options) {
    FleetOptions fleet;
    fleet.agents = options.agent_cores ? AgentModel::kCore : AgentModel::kFlow;
    fleet.hub = options.hub;
    fleet.hub.hub.seed = options.seed;
    fleet.rollouts.world_size = options.group_size;
    fleet.rollouts.bytes = options.shard_bytes;
    fleet.rollouts.chunk_bytes = options.chunk();
    fleet.trainers.world_size = options.trainer_ranks();
    fleet.trainers.bytes = options.shard_bytes * options.group_size / options.trainer_ranks();
    fleet.trainers.chunk_bytes = options.ChunkOf(fleet.trainers.bytes);
    fleet.times = options.times;
    return fleet;
  }

  void AddPublisher(uint32_t gpu) {
    const GroupIndex group = fleet_.AddTrainers(absl::StrCat("trainer-", gpu), gpu);
    rollout_of_.push_back(workload_.rollouts.size());
    world_.At(kPublishAt, [this, group] { fleet_.Publish(group, kNewVersion); });
  }

  void AddRollout(size_t i) {
    const Rollout& rollout = workload_.rollouts[i];
    if (rollout.late) {
      world_.At(kPublishAt + rollout.ready, [this, i] {
        const GroupIndex group = Enter(i, /*holds_old=*/false);
        fleet_.Fetch(group, kOldVersion);
      });
      return;
    }
    const GroupIndex group = Enter(i, /*holds_old=*/true);
    // Rollouts that are ready wait for the version; the others ask for it when they are.
    const Nanos at = rollout.ready == 0 ? kPublishAt / 2 : kPublishAt + rollout.ready;
    world_.At(at, [this, group] { fleet_.Fetch(group, kOldVersion); });
  }

  GroupIndex Enter(size_t i, bool holds_old) {
    const Rollout& rollout = workload_.rollouts[i];
    const GroupIndex group =
        fleet_.AddRollouts(absl::StrCat("rollout-", i), rollout.first_gpu, holds_old);
    rollout_of_.push_back(i);
    if (rollout.dies) {
      const Nanos at = std::max(kPublishAt + *rollout.dies, world_.now());
      world_.At(at, [this, group, i] { Die(group, i); });
    }
    return group;
  }

  void Die(GroupIndex group, size_t rollout) {
    fleet_.Die(group);
    if (!result_.done[rollout]) --open_;
  }

  void Summarise() {
    for (GroupIndex group = 0; group < fleet_.groups(); ++group) {
      for (const FleetWorker* worker : fleet_.WorkersOf(group)) {
        result_.redirects += worker->record().redirects;
        result_.failures += worker->record().failures;
      }
    }
    for (uint32_t i = 0; i < options_.topology.datacenters; ++i) {
      const LinkId link = topology_.WideAreaInto(i);
      result_.wide_area_bytes.push_back(world_.network().BytesThrough(link) +
                                        fleet_.frames().BytesThrough(link));
    }
    result_.bytes_thrown_away = world_.network().bytes_thrown_away();
    result_.hub_events = fleet_.hub().events();
    result_.hub_cpu_seconds = fleet_.hub().cpu_seconds();
    result_.hub_warnings = fleet_.hub().warnings();
    result_.last_warning = fleet_.hub().last_warning();
    result_.trace = world_.trace();
  }

  const ScaleOptions& options_;
  const Workload& workload_;
  World world_;
  Topology topology_;
  Fleet fleet_;
  std::vector<size_t> rollout_of_;  // by group; the number of rollouts: a publisher
  size_t open_ = 0;
  RosResult result_;
};

}  // namespace

RosResult RunRos(const ScaleOptions& options, const Workload& workload) {
  return RosRun(options, workload).Run();
}

}  // namespace tensorhub::sim
