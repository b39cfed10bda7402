// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The answer to PlanWanted, from the layouts: pure, and too slow for the hub's own thread where
// layouts are large (docs/benchmarks.md, "plan").

#ifndef TENSORHUB_SERVER_CORE_PLANNING_H_
#define TENSORHUB_SERVER_CORE_PLANNING_H_

#include <memory>
#include <vector>

#include "common/layout.h"
#include "server/core/events.h"

namespace tensorhub::hub {

// Layouts by rank. None: UNAVAILABLE, since the hub does not have it any more.
using LayoutsByRank = std::vector<std::shared_ptr<const Layout>>;

// Errors are those of Sharding::Make and CheckCover (common/read_plan.h).
PlanMade MakePlan(const PlanKey& plan, const LayoutsByRank& from, const LayoutsByRank& to);

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_PLANNING_H_
