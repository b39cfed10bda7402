// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R2, R6: which publication is meant, or why none is. (Outages: absentees_test.cc.)

#include "server/core/version_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/core/part_world.h"

namespace tensorhub::hub {
namespace {

using testing::HasSubstr;

class VersionChoiceTest : public testing::Test {
 protected:
  VersionChoiceTest() { world_.Join("idle"); }  // the model is there

  Publication& AddHeld(VersionNumber version) {
    Publication& publication = world_.Publish(version);
    world_.Hold(world_.Join("holder of " + std::to_string(version)), publication);
    return publication;
  }
  // What a group of one rank means; 0: nothing.
  VersionNumber Wanted(VersionSelector::Kind kind, VersionNumber version = 0,
                       std::optional<TermNumber> held_in = {}) const {
    Group group;
    group.forming[0] = Join{{kind, version}, {}, held_in};
    const auto wanted = choice_.Wanted(PartWorld::kModel, group);
    return wanted.ok() ? (*wanted)->version : 0;
  }
  bool Finds(VersionSelector selector) const {
    Group group;
    group.forming[0] = Join{selector, {}, {}};
    return choice_.Wanted(PartWorld::kModel, group).ok();
  }
  std::string WhyNot(VersionNumber version) const {
    return std::string(choice_.Exact(PartWorld::kModel, version).status().message());
  }

  PartWorld world_;
  Absentees absentees_{world_.options, world_, world_, world_};
  VersionChoice choice_{world_, absentees_};
};

TEST_F(VersionChoiceTest, EachKindMeansOne) {
  AddHeld(7);
  AddHeld(9);
  EXPECT_EQ(Wanted(VersionSelector::Kind::kLatest), 9u);
  EXPECT_EQ(Wanted(VersionSelector::Kind::kExact, 7), 7u);
  EXPECT_EQ(Wanted(VersionSelector::Kind::kNewerThan, 7), 9u);
  EXPECT_EQ(Wanted(VersionSelector::Kind::kNewerThan, 9), 0u);
}

TEST_F(VersionChoiceTest, AnyIsTheNewestAndBeginsAtZero) {
  EXPECT_FALSE(Finds({VersionSelector::Kind::kAny, 0}));
  AddHeld(0);
  EXPECT_FALSE(Finds({VersionSelector::Kind::kNewerThan, 0}));
  EXPECT_TRUE(Finds({VersionSelector::Kind::kAny, 0}));
  AddHeld(9);
  EXPECT_EQ(Wanted(VersionSelector::Kind::kAny), 9u);
}

TEST_F(VersionChoiceTest, TheLatestIsNotWhatHappensToBeHeld) {
  AddHeld(7);
  world_.Publish(9);
  EXPECT_EQ(Wanted(VersionSelector::Kind::kLatest), 0u);
  EXPECT_EQ(Wanted(VersionSelector::Kind::kNewerThan, 6), 7u) << "that one can be had";
  EXPECT_THAT(WhyNot(9), HasSubstr("the newest held is 7"));
}

TEST_F(VersionChoiceTest, WhoeverHoldsWhatIsSupersededWantsTheLatest) {
  Model& model = *world_.FindModel(PartWorld::kModel);
  model.terms.Begin({1, 8});
  AddHeld(8).term = {1, 8};
  EXPECT_EQ(Wanted(VersionSelector::Kind::kNewerThan, 12, 0), 8u);
  EXPECT_EQ(Wanted(VersionSelector::Kind::kNewerThan, 12, 1), 0u);
}

TEST_F(VersionChoiceTest, ItIsSaidWhyThereIsNone) {
  EXPECT_TRUE(absl::IsNotFound(choice_.Latest(PartWorld::kModel).status()));
  EXPECT_THAT(WhyNot(3), HasSubstr("it has no version yet"));
  Publication& publication = AddHeld(7);
  EXPECT_THAT(WhyNot(3), HasSubstr("does not exist; the latest is 7"));
  world_.FindModel(PartWorld::kModel)->visible.clear();
  publication.visible = false;
  EXPECT_THAT(WhyNot(7), HasSubstr("not visible yet"));
}

}  // namespace
}  // namespace tensorhub::hub
