// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A batch of seeds, as a test of the cores; and of the simulation, that a seed is a run.

#include "tests/sim/seed_run.h"

#include <gtest/gtest.h>

namespace tensorhub::fault {
namespace {

SeedOptions Options(uint64_t seed) {
  SeedOptions options;
  options.seed = seed;
  options.seconds = 120;
  return options;
}

// Seeds 1 to 40 are StatePageTest's.
TEST(SeedRunTest, NoRuleIsBroken) {
  Counts all;
  for (uint64_t seed = 41; seed <= 60; ++seed) {
    const SeedResult result = RunSeed(Options(seed));
    ASSERT_FALSE(result.violation)
        << result.violation->rule << ": " << result.violation->text
        << "; again: tensorhub-sim check --seed " << seed << " --seeds 1 --seconds 120";
    EXPECT_GE(result.workers, 8u);
    EXPECT_GE(result.seconds, 120);
    EXPECT_GT(result.counts.succeeded, 0u);
    all.damaged += result.counts.damaged;
    all.rotten += result.counts.rotten;
  }
  EXPECT_GT(all.damaged, 0u);
  EXPECT_GT(all.rotten, 0u);
}

TEST(SeedRunTest, TheSameSeedGoesTheSameWay) {
  for (uint64_t seed = 100; seed < 104; ++seed) {
    EXPECT_EQ(RunSeed(Options(seed)).trace, RunSeed(Options(seed)).trace);
    EXPECT_NE(RunSeed(Options(seed)).trace, RunSeed(Options(seed + 1)).trace);
  }
}

TEST(SeedRunTest, EffectsAreHashedOnRequest) {
  SeedOptions options = Options(100);
  options.seconds = 20;
  const SeedResult plain = RunSeed(options);
  options.hashes_effects = true;
  const SeedResult hashed = RunSeed(options);
  EXPECT_EQ(plain.trace, hashed.trace);
  EXPECT_NE(plain.effects, hashed.effects);
  EXPECT_EQ(RunSeed(options).effects, hashed.effects);
  options.seed = 101;
  EXPECT_NE(RunSeed(options).effects, hashed.effects);
}

TEST(SeedRunTest, SeedsLeaveOutKindsOfFaults) {
  EXPECT_NE(FaultPlan::Draw(1).Describe(), FaultPlan::Draw(2).Describe());
  uint64_t without_crashes = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    if (FaultPlan::Draw(seed).worker_crashes == 0) ++without_crashes;
  }
  EXPECT_GT(without_crashes, 20u);
  EXPECT_LT(without_crashes, 80u);
}

// Nobody else would find them.
TEST(SeedRunTest, BytesChangeOnlyWhereEverybodyChecks) {
  uint64_t damaged = 0;
  uint64_t rotten = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const FaultPlan plan = FaultPlan::Draw(seed);
    if (plan.damaged != 0) ++damaged;
    if (plan.rots != 0) ++rotten;
    if (plan.damaged == 0 && plan.rots == 0) continue;
    EXPECT_EQ(plan.digests, FaultPlan::DigestUse::kOn) << seed;
    EXPECT_FALSE(plan.cuts && plan.rots != 0) << seed;
  }
  EXPECT_GT(damaged, 10u);
  EXPECT_GT(rotten, 5u);
}

}  // namespace
}  // namespace tensorhub::fault
