// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `tensorhub-sim check`: faults against the rules of docs/protocol, seed after seed.

#ifndef TENSORHUB_TOOLS_SIM_CHECK_H_
#define TENSORHUB_TOOLS_SIM_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "bench/figures.h"
#include "common/cli/flags.h"
#include "tests/sim/seed_run.h"

namespace tensorhub::sim {

class CheckVerb {
 public:
  // Before parsing; the flags' targets are members.
  void AddFlags(cli::Command& command);
  // INVALID_ARGUMENT: the flags; DATA_LOSS: a rule was broken, with the command that shows it.
  absl::Status Run(bench::Report& report);

 private:
  absl::Status RunSeeds(bench::Report& report);
  absl::Status RunSeed(uint64_t seed);
  std::string CommandFor(uint64_t seed) const;
  void Report(double wall_seconds, bench::Report& report) const;

  uint64_t seed_ = 1;
  uint64_t seeds_ = 40;
  double seconds_ = 600;
  bool trace_ = false;

  fault::Counts counts_;
  double simulated_ = 0;
  double worker_seconds_ = 0;
  uint64_t done_ = 0;
  uint64_t repeated_ = 0;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_CHECK_H_
