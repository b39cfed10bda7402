// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/send_rate.h"

#include "gtest/gtest.h"

namespace tensorhub::agent {
namespace {

TEST(SendRate, IsUnknownUntilAWholeWindowHasPassed) {
  SendRate rate;
  for (TimeMs now = 1000; now < 1100; now += 10) rate.OnSent(1000, now);
  EXPECT_EQ(rate.BytesIn(5), std::nullopt);
  rate.OnSent(1000, 1100);
  EXPECT_EQ(rate.BytesIn(5), 500u);
}

TEST(SendRate, FollowsTheConnection) {
  SendRate rate;
  TimeMs now = 0;
  for (; now <= 300; now += 10) rate.OnSent(1000, now);
  for (; now <= 600; now += 10) rate.OnSent(4000, now);
  EXPECT_EQ(rate.BytesIn(1), 400u);
}

// Then the source had nothing to give: that says nothing about the connection.
TEST(SendRate, DoesNotCountPauses) {
  SendRate rate;
  TimeMs now = 0;
  for (; now <= 300; now += 10) rate.OnSent(1000, now);
  now += 5000;
  rate.OnSent(1000, now);
  EXPECT_EQ(rate.BytesIn(1), 100u);
  for (int i = 0; i < 10; ++i) rate.OnSent(1000, now += 10);
  EXPECT_EQ(rate.BytesIn(1), 100u);
}

}  // namespace
}  // namespace tensorhub::agent
