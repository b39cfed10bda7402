// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A collective as the paper's baseline uses it (NCCL broadcast), in closed form and with everything
// in its favour: it runs at the full rate of the links, its communicator exists, and nobody fails.
// What is left is what its design costs: a fixed group in which everybody, trainers too, waits
// for the last member to come and for the last byte to arrive.

#ifndef TENSORHUB_TOOLS_SIM_BASELINES_H_
#define TENSORHUB_TOOLS_SIM_BASELINES_H_

#include "tools/sim/workload.h"

namespace tensorhub::sim {

struct Collective {
  double completion_seconds = 0;
  double stall_seconds = 0;  // GPU-seconds, rollouts and trainers
};

Collective NcclBroadcast(const ScaleOptions& options, const Workload& workload);

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_BASELINES_H_
