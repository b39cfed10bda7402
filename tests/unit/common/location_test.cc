// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/location.h"

#include <gtest/gtest.h>

namespace tensorhub {
namespace {

Location At(std::string_view text) { return Location::Parse(text).value(); }

TEST(Location, ParsesAndPrints) {
  EXPECT_EQ(At("us/dc1/r4/h7/0").ToString(), "us/dc1/r4/h7/0");
  EXPECT_EQ(At("us/dc1").ToString(), "us/dc1");
  EXPECT_EQ(At("us/dc1//").ToString(), "us/dc1");
  EXPECT_EQ(At("").ToString(), "");
}

TEST(Location, APartMayBeUnknownBeforeOneThatIsKnown) {
  EXPECT_EQ(At("-/-/-/h7").ToString(), "-/-/-/h7");
  EXPECT_EQ(At("-/-/-/h7").Part(0), "");
  EXPECT_EQ(At("us/dc1/-/-").ToString(), "us/dc1");
  EXPECT_EQ(At("-").ToString(), "");
  EXPECT_EQ(At("").WithHost("h7").ToString(), "-/-/-/h7");
  EXPECT_EQ(At("us/dc1").WithHost("h7").ToString(), "us/dc1/-/h7");
  EXPECT_EQ(At("us/dc1/r1/h1").WithHost("h7").ToString(), "us/dc1/r1/h1");
  EXPECT_EQ(At("us/dc1/r1/-/0").WithHost("h7").ToString(), "us/dc1/r1/h7/0");
}

TEST(Location, RefusesWhatContradictsItself) {
  EXPECT_EQ(Location::Parse("us//r4").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(Location::Parse("a/b/c/d/e/f").ok());
  EXPECT_FALSE(Location::Parse("a b").ok());
  EXPECT_FALSE(Location::Parse(std::string(257, 'a')).ok());
}

TEST(Location, TierIsTheClosestCommonPart) {
  EXPECT_EQ(TierBetween(At("us/dc1/r1/h1/0"), At("us/dc1/r1/h1/1")), Tier::kHost);
  EXPECT_EQ(TierBetween(At("us/dc1/r1/h1"), At("us/dc1/r1/h2")), Tier::kRack);
  EXPECT_EQ(TierBetween(At("us/dc1/r1/h1"), At("us/dc1/r2/h1")), Tier::kDatacenter);
  EXPECT_EQ(TierBetween(At("us/dc1"), At("us/dc2")), Tier::kRemote);
  EXPECT_EQ(TierBetween(At("us/dc1"), At("eu/dc1")), Tier::kRemote);
}

TEST(Location, WhatIsUnknownIsSharedWithNobodyBelowTheDatacenter) {
  EXPECT_EQ(TierBetween(At(""), At("")), Tier::kDatacenter);
  EXPECT_EQ(TierBetween(At("us/dc1/r1"), At("us/dc1/r1")), Tier::kRack);
  EXPECT_EQ(TierBetween(At(""), At("us")), Tier::kRemote);
  EXPECT_EQ(TierBetween(At("us/dc1/-/h1"), At("us/dc1/-/h2")), Tier::kDatacenter);
}

TEST(Location, AHostIsKnownWithoutItsRack) {
  EXPECT_EQ(TierBetween(At("-/-/-/h1"), At("-/-/-/h1")), Tier::kHost);
  EXPECT_EQ(TierBetween(At("us/dc1/-/h1"), At("us/dc1/r1/h1")), Tier::kDatacenter);
  EXPECT_EQ(TierBetween(At("-/-/-/h1"), At("")), Tier::kDatacenter);
}

}  // namespace
}  // namespace tensorhub
