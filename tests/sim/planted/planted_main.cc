// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs seeds until the planted bug is caught; fails if it survives them all. The hub's own
// invariants are left out, so that the checkers have to see it.

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/sim/seed_run.h"

namespace tensorhub::fault {

extern const bool planted_applied;

namespace {

constexpr uint64_t kSeeds = 6000;
constexpr double kSeconds = 200;

// An assertion that is always on has found it, in production as well.
void OnAbort(int) {
  std::puts("caught by an assertion");
  std::fflush(stdout);
  std::_Exit(0);
}

// For whoever looks for how many seeds a new bug needs: their number, and the first.
uint64_t Argument(int argc, char** argv, int index, uint64_t otherwise) {
  return argc > index ? std::strtoull(argv[index], nullptr, 10) : otherwise;
}

int Main(uint64_t seeds, uint64_t first) {
  if (!planted_applied) {
    std::puts("the patch does not apply to its source any more: make it anew (docs/testing.md)");
    return 1;
  }
  std::signal(SIGABRT, OnAbort);
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    SeedOptions options;
    options.seed = seed;
    options.seconds = kSeconds;
    options.looks_inside = false;
    const SeedResult result = RunSeed(options);
    if (!result.violation) continue;
    std::printf("caught by seed %lu after %.1f s, %s: %s\n", static_cast<unsigned long>(seed),
                sim::Seconds(result.violation->at), result.violation->rule.c_str(),
                result.violation->text.c_str());
    return 0;
  }
  std::printf("survived %lu seeds\n", static_cast<unsigned long>(seeds));
  return 1;
}

}  // namespace
}  // namespace tensorhub::fault

int main(int argc, char** argv) {
  using tensorhub::fault::Argument;
  return tensorhub::fault::Main(Argument(argc, argv, 1, tensorhub::fault::kSeeds),
                                Argument(argc, argv, 2, 1));
}
