// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One seed: a cluster around one hub, faults, healing, and what must be true then; again and again
// until the simulated time is up, and at last everybody leaves.

#ifndef TENSORHUB_TESTS_SIM_SEED_RUN_H_
#define TENSORHUB_TESTS_SIM_SEED_RUN_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "tests/sim/scene.h"

namespace tensorhub::fault {

struct SeedOptions {
  uint64_t seed = 1;
  // Simulated.
  double seconds = 600;
  // The hub's own invariants are looked at, too (which ends the program if one is broken).
  bool looks_inside = true;
  std::ostream* log = nullptr;
  bool hashes_effects = false;   // for SeedResult::effects
  StateWatch* states = nullptr;  // sees it all, if there is one
};

struct SeedResult {
  std::optional<Violation> violation;
  Counts counts;
  double seconds = 0;    // simulated
  uint64_t trace = 0;    // equal for equal runs
  uint64_t effects = 0;  // of all that the cores wanted done (EffectTrace)
  uint32_t workers = 0;
  std::string faults;  // the kinds that were on
};

SeedResult RunSeed(const SeedOptions& options);

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_SEED_RUN_H_
