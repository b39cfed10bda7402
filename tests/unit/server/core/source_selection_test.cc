// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Covers: R5.3, R5.13

#include "server/core/source_selection.h"

#include <gtest/gtest.h>

namespace tensorhub::hub {
namespace {

Candidate Make(Serial serial, Tier tier = Tier::kDatacenter) {
  Candidate candidate;
  candidate.serial = serial;
  candidate.tier = tier;
  return candidate;
}

TEST(SourceSelectionTest, NobodyIsNobody) { EXPECT_FALSE(Best({})); }

TEST(SourceSelectionTest, TheOwnDatacenterComesBeforeAllElse) {
  Candidate here = Make(2), far = Make(1, Tier::kRemote);
  here.behind = here.slow = here.unreliable = true;
  here.readers = 9;
  EXPECT_EQ(Best({far, here})->serial, here.serial);
}

TEST(SourceSelectionTest, AheadComesBeforeNear) {
  Candidate near = Make(1, Tier::kHost), ahead = Make(2);
  near.behind = true;
  EXPECT_EQ(Best({near, ahead})->serial, ahead.serial);
}

TEST(SourceSelectionTest, NotSlowComesBeforeNear) {
  Candidate near = Make(1, Tier::kHost), other = Make(2);
  near.slow = true;
  EXPECT_EQ(Best({near, other})->serial, other.serial);
}

TEST(SourceSelectionTest, AFreePlaceComesBeforeNear) {
  Candidate near = Make(1, Tier::kRack), idle = Make(2);
  near.crowded = true;
  idle.unreliable = true;
  EXPECT_EQ(Best({near, idle})->serial, idle.serial);
}

TEST(SourceSelectionTest, NearComesBeforeFewerReaders) {
  Candidate near = Make(2, Tier::kRack), idle = Make(1);
  near.readers = 2;
  near.unreliable = true;
  EXPECT_EQ(Best({near, idle})->serial, near.serial);
}

TEST(SourceSelectionTest, OnesOwnHostHasAPlaceMore) {
  EXPECT_EQ(PlacesFor(Tier::kHost, 1), 2u);
  for (const Tier tier : {Tier::kRack, Tier::kDatacenter, Tier::kRemote}) {
    EXPECT_EQ(PlacesFor(tier, 1), 1u);
  }
}

TEST(SourceSelectionTest, UnreliableComesLastInItsTier) {
  Candidate a = Make(1), b = Make(2);
  a.unreliable = true;
  b.readers = 3;
  EXPECT_EQ(Best({a, b})->serial, b.serial);
}

TEST(SourceSelectionTest, RemoteGoesByUplinkBeforeReaders) {
  Candidate a = Make(1, Tier::kRemote), b = Make(2, Tier::kRemote);
  a.uplink = 1;
  b.readers = 1;
  EXPECT_EQ(Best({a, b})->serial, b.serial);
}

TEST(SourceSelectionTest, ThenFewestReadersThenProgressThenStable) {
  Candidate a = Make(1), b = Make(2);
  a.readers = 1;
  b.steps_missing = 9;
  EXPECT_TRUE(IsBetter(b, a));
  b.readers = 1;
  EXPECT_TRUE(IsBetter(a, b));
  b.steps_missing = 0;
  a.stable = false;
  EXPECT_TRUE(IsBetter(b, a));
  a.stable = true;
  EXPECT_TRUE(IsBetter(a, b)) << "of equal ones the first";
}

TEST(SourceSelectionTest, ProgressCountsInSteps) {
  EXPECT_EQ(StepsMissing(0, 512), kProgressSteps);
  EXPECT_EQ(StepsMissing(1, 512), kProgressSteps);
  EXPECT_EQ(StepsMissing(16, 512), kProgressSteps - 1);
  EXPECT_EQ(StepsMissing(511, 512), 1u);
  EXPECT_EQ(StepsMissing(512, 512), 0u);
  EXPECT_EQ(StepsMissing(kChunkCountMax, kChunkCountMax), 0u);
  EXPECT_EQ(StepsMissing(0, 0), 0u) << "a shard of no bytes is whole";
}

}  // namespace
}  // namespace tensorhub::hub
