// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a scenario asks of a strategy: who is where, who publishes, and when each rollout group
// wants the new version, comes, or dies. Every strategy gets the same one. Time 0 is the publish.

#ifndef TENSORHUB_TOOLS_SIM_WORKLOAD_H_
#define TENSORHUB_TOOLS_SIM_WORKLOAD_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/sim/fleet_worker.h"
#include "tools/sim/hub_port.h"
#include "tools/sim/topology.h"

namespace tensorhub::sim {

// As worker_agent/core does.
double DefaultAheadBytes();

struct ScaleOptions {
  std::string scenario = "broadcast";
  bool agent_cores = false;  // the agents' own state machines, frame by frame
  TopologyOptions topology;
  uint32_t group_size = 8;    // of rollouts
  uint32_t trainer_size = 0;  // of trainers; 0: as those, with the same cut
  uint32_t publishers = 1;    // trainer groups that publish the same version
  double shard_bytes = 50e9;
  uint64_t chunk_bytes = 0;                  // 0: what an agent proposes
  double ahead_bytes = DefaultAheadBytes();  // sent by a source before it confirms
  Nanos spread = 0;
  Nanos window = 0;
  double late_share = 0;
  double death_share = 0;
  uint64_t seed = 1;
  Nanos nccl_init = 5 * kSecond;
  HubPortOptions hub;
  AgentTimes times;

  uint32_t trainer_ranks() const { return trainer_size == 0 ? group_size : trainer_size; }
  // One copy into a rollout, and out of one group of trainers.
  double link_seconds() const {
    const double cut = std::max(1.0, double(group_size) / trainer_ranks());
    return cut * shard_bytes / topology.nic_bytes_per_second;
  }
  double wide_area_seconds() const {
    return shard_bytes * group_size / topology.wide_area_bytes_per_second;
  }
  uint64_t chunk() const { return ChunkOf(shard_bytes); }
  uint64_t ChunkOf(double bytes) const;
};

struct Rollout {
  uint32_t first_gpu = 0;
  Nanos ready = 0;    // when it asks for the version
  bool late = false;  // joins only then
  std::optional<Nanos> dies;
};

struct Workload {
  uint32_t trainer_gpus = 0;
  std::vector<uint32_t> publishers;  // first GPU of each
  std::vector<Rollout> rollouts;
};

// INVALID_ARGUMENT: options that make no sense, naming the flag.
absl::StatusOr<Workload> MakeWorkload(const ScaleOptions& options);

// Times by rollout: when the whole group had the version; empty if it died before or never got it.
using Completions = std::vector<std::optional<Nanos>>;

// Seconds until the last one that got it had it.
double LastSeconds(const Completions& done);
double MeanUpdateSeconds(const Workload& workload, const Completions& done);
// GPU-seconds between asking and having, over all ranks.
double StallSeconds(const Workload& workload, const Completions& done, uint32_t group_size);

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_WORKLOAD_H_
