// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/workload.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/layout.h"
#include "common/random.h"
#include "worker_agent/core/agent_core.h"

namespace tensorhub::sim {
namespace {

absl::Status Check(const ScaleOptions& options) {
  const TopologyOptions& topology = options.topology;
  if (options.group_size == 0) return absl::InvalidArgumentError("--group-size is 0");
  if (topology.gpus_per_host == 0) return absl::InvalidArgumentError("--gpus-per-host is 0");
  if (topology.hosts_per_rack == 0) return absl::InvalidArgumentError("--hosts-per-rack is 0");
  if (topology.datacenters == 0) return absl::InvalidArgumentError("--datacenters is 0");
  if (topology.gpus > 1'000'000) return absl::InvalidArgumentError("--gpus is above 1,000,000");
  if (options.publishers == 0) return absl::InvalidArgumentError("--publishers is 0");
  if (!(options.shard_bytes >= 1) || options.shard_bytes > 1e13) {
    return absl::InvalidArgumentError("--shard-bytes is not in 1..10T");
  }
  if (!(topology.nic_bytes_per_second > 0) || !(topology.wide_area_bytes_per_second > 0) ||
      !(topology.host_bytes_per_second > 0) || topology.rack_bytes_per_second < 0) {
    return absl::InvalidArgumentError(
        "--nic-gbit, --host-gbit and --wan-gbit are above 0, --rack-gbit is not below");
  }
  if (options.trainer_size != 0 && options.agent_cores) {
    return absl::InvalidArgumentError("--trainer-size is for --agents flow");
  }
  const Chunking chunking{static_cast<uint64_t>(options.shard_bytes), options.chunk()};
  return CheckChunking(chunking);
}

// Trainers take the first half in the scenarios of the paper, of which some groups publish.
uint32_t TrainerGpus(const ScaleOptions& options) {
  const uint32_t publishing = options.publishers * options.trainer_ranks();
  if (options.scenario == "broadcast") return publishing;
  const uint32_t part = options.scenario == "crossdc" ? options.topology.datacenters : 2;
  const uint32_t groups = options.topology.gpus / options.trainer_ranks() / part;
  return std::max(publishing, groups * options.trainer_ranks());
}

Nanos Within(Random& random, Nanos span) {
  return span <= 0 ? 0 : static_cast<Nanos>(random.Below(static_cast<uint64_t>(span)));
}

bool Chance(Random& random, double share) {
  return static_cast<double>(random.Below(1'000'000)) < share * 1e6;
}

}  // namespace

double DefaultAheadBytes() { return static_cast<double>(agent::CoreOptions().send_ahead_bytes); }

uint64_t ScaleOptions::ChunkOf(double bytes) const {
  return chunk_bytes != 0 ? chunk_bytes : DefaultChunkBytes(static_cast<uint64_t>(bytes));
}

absl::StatusOr<Workload> MakeWorkload(const ScaleOptions& options) {
  if (absl::Status status = Check(options); !status.ok()) return status;
  Workload workload;
  workload.trainer_gpus = TrainerGpus(options);
  for (uint32_t i = 0; i < options.publishers; ++i) {
    workload.publishers.push_back(i * options.trainer_ranks());
  }
  Random random(options.seed);
  for (uint32_t gpu = workload.trainer_gpus; gpu + options.group_size <= options.topology.gpus;
       gpu += options.group_size) {
    Rollout rollout;
    rollout.first_gpu = gpu;
    rollout.late = Chance(random, options.late_share);
    rollout.ready = Within(random, rollout.late ? options.window : options.spread);
    if (Chance(random, options.death_share)) rollout.dies = Within(random, options.window);
    workload.rollouts.push_back(rollout);
  }
  if (!workload.rollouts.empty()) return workload;
  return absl::InvalidArgumentError(absl::StrCat("--gpus ", options.topology.gpus,
                                                 " leaves no rollout group beside ",
                                                 workload.trainer_gpus, " trainer GPUs"));
}

double LastSeconds(const Completions& done) {
  Nanos last = 0;
  for (const auto& at : done) last = std::max(last, at.value_or(0));
  return Seconds(last);
}

double StallSeconds(const Workload& workload, const Completions& done, uint32_t group_size) {
  double stall = 0;
  for (size_t i = 0; i < done.size(); ++i) {
    if (done[i]) stall += Seconds(*done[i] - workload.rollouts[i].ready) * group_size;
  }
  return stall;
}

double MeanUpdateSeconds(const Workload& workload, const Completions& done) {
  const auto count = std::count_if(done.begin(), done.end(), [](const auto& at) { return at; });
  if (count == 0) return 0;
  return StallSeconds(workload, done, 1) / static_cast<double>(count);
}

}  // namespace tensorhub::sim
