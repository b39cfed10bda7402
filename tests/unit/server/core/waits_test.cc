// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/core/tables.h"

namespace tensorhub::hub {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Model ModelWith(std::initializer_list<VersionNumber> visible) {
  Model model;
  for (const VersionNumber version : visible) model.visible[version] = PublicationId{0, version};
  if (!model.visible.empty()) model.latest = model.visible.rbegin()->first;
  return model;
}

Wait WaitFor(VersionNumber newer_than, uint64_t max_lag = 0) {
  Wait wait;
  wait.model = "m";
  wait.newer_than = newer_than;
  wait.max_lag = max_lag;
  return wait;
}

TEST(WaitsTest, AreFoundByCallAndByModel) {
  Waits waits;
  waits.Add(7, WaitFor(1));
  waits.Add(3, WaitFor(2));
  Wait other = WaitFor(4);
  other.model = "n";
  waits.Add(5, other);
  EXPECT_THAT(waits.Of("m"), ElementsAre(3, 7));
  EXPECT_EQ(waits.Find(5)->newer_than, 4u);
  EXPECT_EQ(waits.Take(7)->newer_than, 1u);
  EXPECT_FALSE(waits.Take(7)) << "it waits no more";
  EXPECT_EQ(waits.Find(7), nullptr);
  EXPECT_THAT(waits.Of("m"), ElementsAre(3));
  waits.Take(3);
  EXPECT_THAT(waits.Of("m"), IsEmpty());
  EXPECT_EQ(waits.size(), 1u);
  waits.CheckInvariants();
}

TEST(WaitsTest, EndWithTheLatestOnceThereIsANewerVersion) {
  EXPECT_FALSE(VersionFor(WaitFor(0), Model{})) << "nothing is visible";
  EXPECT_FALSE(VersionFor(WaitFor(5), ModelWith({3, 5})));
  EXPECT_EQ(VersionFor(WaitFor(3), ModelWith({3, 5, 9})), 9u);
}

TEST(WaitsTest, LagIsCountedInVersionsNotInNumbers) {
  const Model model = ModelWith({10, 20, 30});
  EXPECT_EQ(VersionFor(WaitFor(10, 1), model), 30u);
  EXPECT_FALSE(VersionFor(WaitFor(10, 2), model));
  EXPECT_FALSE(VersionFor(WaitFor(20, 1), model));
}

TEST(WaitsTest, AnyVersionWillDoWhereTheCallSaysSo) {
  Wait wait = WaitFor(99);
  wait.any = true;
  EXPECT_FALSE(VersionFor(wait, Model{}));
  EXPECT_EQ(VersionFor(wait, ModelWith({2})), 2u);
}

// R2: what the caller holds is superseded, so that a smaller number is newer.
TEST(WaitsTest, ALaterTermIsNewerWhateverItsNumbers) {
  Model model = ModelWith({40});
  model.terms.Begin({1, 40});
  Wait wait = WaitFor(50);
  EXPECT_FALSE(VersionFor(wait, model)) << "it does not say in which term it holds 50";
  wait.held_in = 0;
  EXPECT_EQ(VersionFor(wait, model), 40u);
  wait.held_in = 1;
  EXPECT_FALSE(VersionFor(wait, model));
}

}  // namespace
}  // namespace tensorhub::hub
