// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/pace.h"

#include "gtest/gtest.h"

namespace tensorhub::agent {
namespace {

TEST(PaceTest, IsOfTheBytesThatCameAgainstTheBestTime) {
  Pace pace;
  pace.Begin(1000);
  for (TimeMs now = 1000; now < 3000; now += 10) pace.Arrived(100'000, now);
  EXPECT_FALSE(pace.IsSick(2999, 2000)) << "it is not judged yet";
  EXPECT_FALSE(pace.IsSick(3000, 2000));
  for (TimeMs now = 3000; now < 5000; now += 200) pace.Arrived(100'000, now);
  EXPECT_FALSE(pace.IsSick(5000, 2000)) << "a twentieth of the best";
  for (TimeMs now = 5000; now < 7000; now += 500) pace.Arrived(100'000, now);
  EXPECT_TRUE(pace.IsSick(7000, 2000)) << "a fiftieth";
  EXPECT_FALSE(pace.IsSick(7001, 2000)) << "it is judged anew";
}

TEST(PaceTest, OfAPathThatLosesMuchIsSickEarlier) {
  Pace pace;
  pace.Begin(0);
  for (TimeMs now = 0; now < 2000; now += 10) pace.Arrived(100'000, now);
  EXPECT_FALSE(pace.IsSick(2000, 2000));
  const auto at_half = [&](TimeMs from) {
    for (TimeMs now = from; now < from + 2000; now += 20) pace.Arrived(100'000, now);
  };
  at_half(2000);
  EXPECT_FALSE(pace.IsSick(4000, 2000)) << "nothing is known of losses";
  at_half(4000);
  pace.NoteLoss(true);
  pace.NoteLoss(false);
  EXPECT_FALSE(pace.IsSick(6000, 2000)) << "they were over soon";
  at_half(6000);
  pace.NoteLoss(true);
  EXPECT_TRUE(pace.IsSick(8000, 2000));
  at_half(8000);
  EXPECT_FALSE(pace.IsSick(10'000, 2000)) << "it is judged anew";
}

TEST(PaceTest, OfAThinLinkIsNeverSick) {
  Pace pace;
  pace.Begin(0);
  for (TimeMs now = 1; now < 60'000; now += 1000) pace.Arrived(256 << 10, now);
  EXPECT_FALSE(pace.IsSick(60'000, 2000));
  EXPECT_FALSE(pace.IsSick(70'000, 2000)) << "nothing comes";
}

}  // namespace
}  // namespace tensorhub::agent
