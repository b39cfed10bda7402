// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Who reads from whom when it is settled beforehand, by somebody who knows all members and asks no
// hub: what the hub's choices are held against, and the models of what others do.
//
//   chain      each from the one before it, the best order of one source per reader
//   two-trees  even chunks through one binary tree and odd chunks through another; whoever passes
//              chunks on in one is a leaf of the other, so that each link carries the shard once
//   fan-out    everybody from the publisher: plain point-to-point (UCX)

#ifndef TENSORHUB_TOOLS_SIM_STATIC_PLANS_H_
#define TENSORHUB_TOOLS_SIM_STATIC_PLANS_H_

#include "tools/sim/workload.h"

namespace tensorhub::sim {

enum class Plan { kChain, kTwoTrees, kFanOut };

// Several publishers share the readers evenly, neighbours together.
Completions RunPlan(Plan plan, const ScaleOptions& options, const Workload& workload);

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_STATIC_PLANS_H_
