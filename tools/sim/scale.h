// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `tensorhub-sim scale`: thousands of GPUs around the real hub, beside models of what others do.

#ifndef TENSORHUB_TOOLS_SIM_SCALE_H_
#define TENSORHUB_TOOLS_SIM_SCALE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/figures.h"
#include "common/cli/flags.h"
#include "tools/sim/workload.h"

namespace tensorhub::sim {

class ScaleVerb {
 public:
  // Before parsing; the flags' targets are members.
  void AddFlags(cli::Command& command);
  // INVALID_ARGUMENT: the flags; INTERNAL: a rollout never got the version.
  absl::Status Run(const cli::Command& command, bench::Report& report);

 private:
  absl::Status ApplyDefaults(const cli::Command& command);
  absl::StatusOr<ScaleOptions> Options() const;
  absl::StatusOr<std::vector<std::string>> Strategies() const;

  std::string scenario_ = "broadcast";
  std::vector<std::string> strategies_;
  std::string agents_ = "flow";
  uint32_t gpus_ = 1024;
  uint32_t group_size_ = 8;
  uint32_t trainer_size_ = 0;
  uint32_t publishers_ = 1;
  uint32_t gpus_per_host_ = 8;
  uint32_t hosts_per_rack_ = 16;
  uint32_t datacenters_ = 1;
  double nic_gbit_ = 200;
  double host_gbit_ = 3200;
  double rack_gbit_ = 0;
  double wide_area_gbit_ = 100;
  double hop_us_ = 50;
  double control_us_ = 200;
  double hub_us_ = 5;
  double hub_message_us_ = 2;
  std::chrono::milliseconds wide_area_latency_{10};
  std::chrono::milliseconds spread_{0};
  std::chrono::milliseconds window_{10'000};
  std::chrono::milliseconds silence_{1000};
  double late_ = 0.5;
  double deaths_ = 0.1;
  cli::Bytes shard_bytes_{50'000'000'000};
  cli::Bytes chunk_bytes_{0};
  uint64_t seed_ = 1;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_SCALE_H_
