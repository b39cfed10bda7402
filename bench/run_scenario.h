// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORHUB_BENCH_RUN_SCENARIO_H_
#define TENSORHUB_BENCH_RUN_SCENARIO_H_

#include <ostream>

#include "bench/scenario.h"

namespace tensorhub::bench {

inline constexpr char kBenchName[] = "tensorhub-bench";

// Runs it, and prints the report; if it could not measure all, what it had measured by then, with a
// note. The exit status: 0; 1: something could not be measured or written; 2: the flags.
int RunScenario(Scenario& scenario, bool json, std::ostream& out);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_RUN_SCENARIO_H_
