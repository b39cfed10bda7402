// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/source_selection.h"

#include <gtest/gtest.h>

namespace tensorhub::hub {
namespace {

Candidate Make(const std::string& group, Tier tier = Tier::kDatacenter) {
  Candidate candidate;
  candidate.worker = {"m", group, 0};
  candidate.tier = tier;
  return candidate;
}

TEST(SourceSelectionTest, NobodyIsNobody) { EXPECT_FALSE(Best({})); }

TEST(SourceSelectionTest, TheOwnDatacenterComesBeforeAllElse) {
  Candidate here = Make("here"), far = Make("far", Tier::kRemote);
  here.behind = here.slow = here.unreliable = true;
  here.readers = 9;
  EXPECT_EQ(Best({far, here})->worker, here.worker);
}

TEST(SourceSelectionTest, AheadComesBeforeNear) {
  Candidate near = Make("near", Tier::kHost), ahead = Make("ahead");
  near.behind = true;
  EXPECT_EQ(Best({near, ahead})->worker, ahead.worker);
}

TEST(SourceSelectionTest, NotSlowComesBeforeNear) {
  Candidate near = Make("near", Tier::kHost), other = Make("other");
  near.slow = true;
  EXPECT_EQ(Best({near, other})->worker, other.worker);
}

TEST(SourceSelectionTest, AFreePlaceComesBeforeNear) {
  Candidate near = Make("near", Tier::kRack), idle = Make("idle");
  near.crowded = true;
  idle.unreliable = true;
  EXPECT_EQ(Best({near, idle})->worker, idle.worker);
}

TEST(SourceSelectionTest, NearComesBeforeFewerReaders) {
  Candidate near = Make("near", Tier::kRack), idle = Make("idle");
  near.readers = 2;
  near.unreliable = true;
  EXPECT_EQ(Best({near, idle})->worker, near.worker);
}

TEST(SourceSelectionTest, OnesOwnHostHasAPlaceMore) {
  EXPECT_EQ(PlacesFor(Tier::kHost, 1), 2u);
  for (const Tier tier : {Tier::kRack, Tier::kDatacenter, Tier::kRemote}) {
    EXPECT_EQ(PlacesFor(tier, 1), 1u);
  }
}

TEST(SourceSelectionTest, UnreliableComesLastInItsTier) {
  Candidate a = Make("a"), b = Make("b");
  a.unreliable = true;
  b.readers = 3;
  EXPECT_EQ(Best({a, b})->worker, b.worker);
}

TEST(SourceSelectionTest, RemoteGoesByUplinkBeforeReaders) {
  Candidate a = Make("a", Tier::kRemote), b = Make("b", Tier::kRemote);
  a.uplink = 1;
  b.readers = 1;
  EXPECT_EQ(Best({a, b})->worker, b.worker);
}

TEST(SourceSelectionTest, ThenFewestReadersThenProgressThenStable) {
  Candidate a = Make("a"), b = Make("b");
  a.readers = 1;
  b.steps_missing = 9;
  EXPECT_TRUE(IsBetter(b, a));
  b.readers = 1;
  EXPECT_TRUE(IsBetter(a, b));
  b.steps_missing = 0;
  a.stable = false;
  EXPECT_TRUE(IsBetter(b, a));
  a.stable = true;
  EXPECT_TRUE(IsBetter(a, b)) << "equal ones go by name";
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
