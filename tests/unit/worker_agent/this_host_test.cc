// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ways/this_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/location.h"

namespace tensorhub::agent {
namespace {

TEST(ThisHostTest, IsTheSameForWhoeverAsks) {
  EXPECT_THAT(ThisHost(), testing::MatchesRegex("boot-[0-9a-f]{12}"));
  EXPECT_EQ(ThisHost(), ThisHost());
}

TEST(ThisHostTest, IsSaidWhereTheLocationNamesNone) {
  EXPECT_EQ(PlacedOnThisHost(""), "-/-/-/" + ThisHost());
  EXPECT_EQ(PlacedOnThisHost("us/dc1"), "us/dc1/-/" + ThisHost());
  EXPECT_EQ(PlacedOnThisHost("us/dc1/r1/h1/0"), "us/dc1/r1/h1/0");
  EXPECT_EQ(PlacedOnThisHost("us//r1"), "us//r1");
  const std::string long_name(250, 'r');
  EXPECT_EQ(PlacedOnThisHost(long_name), long_name);
  const auto one = Location::Parse(PlacedOnThisHost(""));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(TierBetween(*one, *one), Tier::kHost);
}

}  // namespace
}  // namespace tensorhub::agent
