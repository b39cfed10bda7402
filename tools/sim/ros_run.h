// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A workload served by TensorHub: the real hub, workers as fleet_worker.h has them.

#ifndef TENSORHUB_TOOLS_SIM_ROS_RUN_H_
#define TENSORHUB_TOOLS_SIM_ROS_RUN_H_

#include <string>
#include <vector>

#include "tools/sim/workload.h"

namespace tensorhub::sim {

struct RosResult {
  Completions done;
  std::vector<double> wide_area_bytes;  // into each datacenter
  double bytes_thrown_away = 0;
  uint64_t redirects = 0;
  uint64_t failures = 0;  // fetches that had to be repeated
  uint64_t hub_events = 0;
  double hub_cpu_seconds = 0;  // of this machine; differs from run to run
  uint64_t hub_warnings = 0;
  std::string last_warning;
  uint64_t trace = 0;
};

RosResult RunRos(const ScaleOptions& options, const Workload& workload);

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_ROS_RUN_H_
