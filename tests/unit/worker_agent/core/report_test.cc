// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How often a reader tells the hub how far it got.

#include <algorithm>

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

// Of one fetch.
std::vector<uint32_t> Reported(TimeMs progress_ms) {
  World world({.total_bytes = 100 * 4096});
  world.hub.progress_ms = progress_ms;
  EXPECT_TRUE(world.Publish(0, 1).ok());
  world.RunFor(20'000);
  EXPECT_TRUE(world.Fetch(1).ok());
  std::vector<uint32_t> reported;
  for (const auto& [worker, message] : world.hub.said) {
    const auto* report = std::get_if<protocol::Progress>(&message);
    if (worker == 1 && report != nullptr) reported.push_back(report->valid_chunks);
  }
  return reported;
}

TEST(Report, ComesAsOftenAsTheHubSays) {
  const std::vector<uint32_t> often = Reported(1);
  const std::vector<uint32_t> seldom = Reported(10'000);
  EXPECT_GT(often.size(), 5u);
  EXPECT_TRUE(std::is_sorted(often.begin(), often.end()));
  EXPECT_LE(seldom.size(), 1u) << "at most the first";
}

// FinishRead says it, which follows at once.
TEST(Report, DoesNotComeWhenEverythingIsThere) { EXPECT_LT(Reported(1).back(), 100u); }

}  // namespace
}  // namespace tensorhub::agent::testing
