// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorhub::hub {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PinsTest, HaveOneVersionByName) {
  Pins pins;
  pins.Put("m", "eval", {3, {}});
  pins.Put("m", "eval", {4, {}});
  pins.Put("n", "eval", {9, {}});
  ASSERT_EQ(pins.Of("m").size(), 1u);
  EXPECT_EQ(pins.Of("m").at("eval").version, 4u);
  EXPECT_THAT(pins.Of("other"), IsEmpty());
  EXPECT_TRUE(pins.Drop("m", "eval"));
  EXPECT_FALSE(pins.Drop("m", "eval"));
  EXPECT_FALSE(pins.Drop("other", "eval"));
  EXPECT_THAT(pins.Of("m"), IsEmpty());
  pins.CheckInvariants();
}

TEST(PinsTest, EndInTheOrderOfTheirTimes) {
  Pins pins;
  EXPECT_FALSE(pins.FirstEnd());
  pins.Put("m", "for ever", {1, {}});
  EXPECT_FALSE(pins.FirstEnd()) << "it has no end";
  pins.Put("m", "late", {1, 300});
  pins.Put("n", "early", {1, 100});
  pins.Put("m", "early", {1, 100});
  EXPECT_EQ(pins.FirstEnd(), 100);
  EXPECT_THAT(pins.End(99), IsEmpty());
  EXPECT_THAT(pins.End(100), ElementsAre("m", "n"));
  EXPECT_EQ(pins.FirstEnd(), 300);
  EXPECT_THAT(pins.End(1000), ElementsAre("m"));
  EXPECT_EQ(pins.Of("m").size(), 1u) << "the one that stays for ever";
  pins.CheckInvariants();
}

TEST(PinsTest, OneThatMovesHasItsNewEndOnly) {
  Pins pins;
  pins.Put("m", "eval", {1, 100});
  pins.Put("m", "eval", {2, 200});
  EXPECT_EQ(pins.FirstEnd(), 200);
  pins.Put("m", "eval", {2, {}});
  EXPECT_FALSE(pins.FirstEnd());
  pins.CheckInvariants();
}

}  // namespace
}  // namespace tensorhub::hub
