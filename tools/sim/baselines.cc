// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/baselines.h"

#include <algorithm>

namespace tensorhub::sim {
namespace {

constexpr double kSliceBytes = 512 * 1024;  // what NCCL's rings pass on at a time

// One ring per shard; across datacenters all rings of a group share the wide-area link.
double RingRate(const ScaleOptions& options) {
  const double nic = options.topology.nic_bytes_per_second;
  if (options.topology.datacenters == 1) return nic;
  return std::min(nic, options.topology.wide_area_bytes_per_second / options.group_size);
}

}  // namespace

Collective NcclBroadcast(const ScaleOptions& options, const Workload& workload) {
  const double rate = RingRate(options);
  const double hop =
      kSliceBytes / options.topology.nic_bytes_per_second + Seconds(options.topology.hop_latency);
  const auto members = static_cast<double>(workload.rollouts.size());
  const double crossings =
      Seconds(options.topology.wide_area_latency) * (options.topology.datacenters - 1);
  const double transfer = options.shard_bytes / rate + members * hop + crossings;
  Nanos last = 0;
  for (const Rollout& rollout : workload.rollouts) last = std::max(last, rollout.ready);
  Collective result;
  result.completion_seconds = Seconds(last) + transfer;
  for (const Rollout& rollout : workload.rollouts) {
    result.stall_seconds +=
        (result.completion_seconds - Seconds(rollout.ready)) * options.group_size;
  }
  result.stall_seconds += result.completion_seconds * workload.trainer_gpus;
  return result;
}

}  // namespace tensorhub::sim
