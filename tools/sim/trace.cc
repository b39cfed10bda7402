// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/trace.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/sim/seed_run.h"

namespace tensorhub::sim {

void TraceVerb::AddFlags(cli::Command& command) {
  command.Flag("seed", &seed_, "the first seed");
  command.Flag("seeds", &seeds_, "how many seeds, one after the other");
  command.Flag("seconds", &seconds_, "simulated seconds per seed");
  command.Example("tensorhub-sim trace --seeds 1000 > before   # and again after the change; diff");
}

absl::Status TraceVerb::Run(std::ostream& out) const {
  if (seeds_ == 0) return absl::InvalidArgumentError("--seeds 0: at least one is needed");
  if (!(seconds_ > 0) || seconds_ > 1e6) {
    return absl::InvalidArgumentError("--seconds: between 0 and 1000000");
  }
  for (uint64_t seed = seed_; seed < seed_ + seeds_; ++seed) {
    fault::SeedOptions options;
    options.seed = seed;
    options.seconds = seconds_;
    options.hashes_effects = true;
    const fault::SeedResult result = fault::RunSeed(options);
    if (result.violation) {
      return absl::DataLossError(absl::StrCat("seed ", seed, " broke ", result.violation->rule,
                                              ": ", result.violation->text,
                                              "; tensorhub-sim check says more"));
    }
    out << absl::StrFormat("%d %016x\n", seed, result.effects) << std::flush;
  }
  return out.good() ? absl::OkStatus()
                    : absl::UnavailableError("standard output cannot be written");
}

}  // namespace tensorhub::sim
