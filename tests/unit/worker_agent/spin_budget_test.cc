// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/runtime/spin_budget.h"

#include "gtest/gtest.h"

namespace tensorhub::agent {
namespace {

// Waits as the progress loop does, a microsecond at a time, for something that comes after
// `gap_us`. Returns how long it spun.
int64_t Wait(SpinBudget& budget, int64_t gap_us) {
  int64_t spun = 0;
  while (spun < gap_us && budget.Allows(spun)) ++spun;
  budget.OnActive(gap_us);
  return spun;
}

TEST(SpinBudget, FastLinksAreSpunFor) {
  SpinBudget budget;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Wait(budget, 80), 80);
}

TEST(SpinBudget, SlowLinksAreSleptFor) {
  SpinBudget budget;
  int64_t spun = 0;
  for (int i = 0; i < 1000; ++i) spun += Wait(budget, 1000);
  EXPECT_LT(spun, 10'000) << "of 1,000,000 us that passed";
}

TEST(SpinBudget, BurstsOnASlowLinkDoNotWakeIt) {
  SpinBudget budget;
  int64_t spun = 0;
  for (int i = 0; i < 1000; ++i) spun += Wait(budget, 1000) + Wait(budget, 10);
  EXPECT_LT(spun, 60'000) << "of 1,010,000 us that passed";
}

TEST(SpinBudget, ComesBackWhenTheLinkGetsFast) {
  SpinBudget budget;
  for (int i = 0; i < 100; ++i) Wait(budget, 1000);
  for (int i = 0; i < 10; ++i) Wait(budget, 80);
  EXPECT_EQ(Wait(budget, 80), 80);
}

TEST(SpinBudget, StaysWithinItsBounds) {
  SpinBudget budget;
  for (int i = 0; i < 100; ++i) Wait(budget, 100'000);
  EXPECT_EQ(budget.us(), SpinBudget::kMinUs);
  for (int i = 0; i < 100; ++i) Wait(budget, SpinBudget::kMaxUs - 1);
  EXPECT_EQ(budget.us(), SpinBudget::kMaxUs);
}

}  // namespace
}  // namespace tensorhub::agent
