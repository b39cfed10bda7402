// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which bytes a reader takes from each of the shards that the hub named (common/read_plan.h). A
// pure function, which takes its time: shells call it beside their event loop.

#ifndef TENSORHUB_WORKER_AGENT_CORE_PLAN_PARTS_H_
#define TENSORHUB_WORKER_AGENT_CORE_PLAN_PARTS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/layout.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::agent {

// Plans by the layouts of the parts, and the reader's own. Errors as PlanRead's; INTERNAL if a
// part brings nothing.
absl::StatusOr<ReadParts> PlanParts(const MakeReadPlan& wanted,
                                    const std::vector<std::shared_ptr<const Layout>>& parts,
                                    const Layout& own);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_PLAN_PARTS_H_
