// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is run in a scenario, and which figures come of it.

#ifndef TENSORHUB_TOOLS_SIM_SCENARIOS_H_
#define TENSORHUB_TOOLS_SIM_SCENARIOS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/figures.h"
#include "tools/sim/workload.h"

namespace tensorhub::sim {

// broadcast   one publisher, all other GPUs want the version at once
// standalone  half of the GPUs train, the others are rollouts that are ready at different times
// elastic     as standalone, but rollouts come late and die
// crossdc     the trainers' datacenter and others behind thin links
// depth       no hub: what the depth of a chain costs, and of two interleaved trees
const std::vector<std::string>& ScenarioNames();
const std::vector<std::string>& StrategyNames();
std::vector<std::string> DefaultStrategies(const std::string& scenario);

// Errors as ScaleVerb::Run's.
absl::Status RunScenario(const ScaleOptions& options, const std::vector<std::string>& strategies,
                         bench::Report& report);

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_SCENARIOS_H_
