// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/worker_agent/tcp/connection_storm.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace tensorhub::agent {
namespace {

constexpr int kSteps = 20'000;
constexpr uint64_t kSeeds = 4;

// TENSORHUB_STORM_SEEDS=N runs as many more.
uint64_t Seeds() {
  const char* more = std::getenv("TENSORHUB_STORM_SEEDS");
  return kSeeds + (more == nullptr ? 0 : std::strtoull(more, nullptr, 10));
}

TEST(ConnectionStormTest, NothingIsLostTwistedOrHeardBySomebodyElse) {
  uint64_t delivered = 0, cuts = 0;
  for (uint64_t seed = 1; seed <= Seeds(); ++seed) {
    ConnectionStorm storm(seed);
    ASSERT_EQ(storm.Run(kSteps), "") << "seed " << seed;
    delivered += storm.delivered();
    cuts += storm.cuts();
  }
  std::printf("%lu messages arrived, %lu connections were cut\n",
              static_cast<unsigned long>(delivered), static_cast<unsigned long>(cuts));
  EXPECT_GT(delivered, 1000 * Seeds()) << "too few to find anything";
  EXPECT_GT(cuts, 10 * Seeds());
}

}  // namespace
}  // namespace tensorhub::agent
