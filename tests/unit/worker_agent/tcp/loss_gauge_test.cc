// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/tcp/loss_gauge.h"

#include "gtest/gtest.h"

namespace tensorhub::agent {
namespace {

TEST(LossGaugeTest, IsOfTheLastHalfSecondThatIsOver) {
  LossGauge gauge;
  EXPECT_FALSE(gauge.IsLossy({1000, 10}, 1000));
  EXPECT_FALSE(gauge.IsLossy({2000, 900}, 1499)) << "it is not over yet";
  EXPECT_TRUE(gauge.IsLossy({2000, 900}, 1500));
  EXPECT_TRUE(gauge.IsLossy({4000, 900}, 1999));
  EXPECT_FALSE(gauge.IsLossy({4000, 900}, 2000));
}

TEST(LossGaugeTest, SaysNothingOfFewSegments) {
  LossGauge gauge;
  EXPECT_FALSE(gauge.IsLossy({99, 99}, 1000));
  EXPECT_TRUE(gauge.IsLossy({100, 99}, 9000));
}

TEST(LossGaugeTest, ItsCountsMayBeginAnew) {
  LossGauge gauge;
  EXPECT_FALSE(gauge.IsLossy({0xffff'ff00, 0xffff'ff00 / 10}, 1000));
  EXPECT_FALSE(gauge.IsLossy({1000, 0xffff'ff00 / 10 + 10}, 2000));
}

TEST(LossGaugeTest, IsNotLossyWhereTheSystemSaysNothing) {
  LossGauge gauge;
  for (int64_t now = 0; now < 10'000; now += 100) EXPECT_FALSE(gauge.IsLossy({}, now));
}

}  // namespace
}  // namespace tensorhub::agent
