// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R8: whose silence it is.

#include "server/core/silence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/core/part_world.h"

namespace tensorhub::hub {
namespace {

using testing::SizeIs;

class SilenceTest : public testing::Test {
 protected:
  // Two that were heard, and one lease later.
  void FallSilent() {
    silence_.Hear(one_);
    silence_.Hear(other_);
    world_.Pass(world_.options.lease_ms);
  }

  PartWorld world_;
  Silence silence_{world_.options, world_, world_};
  Worker& one_ = world_.Join("a");
  Worker& other_ = world_.Join("b");
};

TEST_F(SilenceTest, AWordRenewsALease) {
  silence_.Hear(one_);
  EXPECT_EQ(one_.heard, world_.now());
  EXPECT_EQ(one_.lease_end, world_.now() + world_.options.lease_ms);
}

TEST_F(SilenceTest, TwoThatFallSilentTogetherAreExcused) {
  FallSilent();
  EXPECT_TRUE(silence_.Excuses(one_));
  EXPECT_TRUE(world_.HasTimer({one_.lease_timer, Timer::Kind::kLease, one_.serial, 0}));
  EXPECT_GT(one_.lease_timer, world_.now()) << "it is asked about again";
  EXPECT_TRUE(silence_.Excuses(other_));
  EXPECT_THAT(world_.All<LogLine>(), SizeIs(1)) << "said once";
}

TEST_F(SilenceTest, OneIsNotWhileTheOtherIsHeard) {
  FallSilent();
  silence_.Hear(other_);
  EXPECT_FALSE(silence_.Excuses(one_));
}

TEST_F(SilenceTest, OneThatClosedItsSessionHasEnded) {
  FallSilent();
  world_.Close(one_);
  EXPECT_FALSE(silence_.Excuses(one_));
  EXPECT_FALSE(silence_.Excuses(other_)) << "it is alone";
  silence_.SetFellSilent(one_, true);
  EXPECT_TRUE(silence_.Excuses(one_)) << "unless it was silent before";
  EXPECT_TRUE(silence_.Excuses(other_));
  silence_.SetFellSilent(one_, false);
  EXPECT_FALSE(silence_.Excuses(other_));
}

TEST_F(SilenceTest, AnOutageThatLastsIsNone) {
  FallSilent();
  world_.Pass(world_.options.cut_off_ms);
  EXPECT_FALSE(silence_.Excuses(one_));
}

TEST_F(SilenceTest, WhoeverIsHeardAfterItIsHeardForAll) {
  FallSilent();
  silence_.HearSomebody();
  EXPECT_EQ(one_.lease_end, world_.now() + world_.options.lease_ms);
  EXPECT_EQ(other_.lease_end, world_.now() + world_.options.lease_ms);
  EXPECT_THAT(world_.All<LogLine>(), SizeIs(1));
}

TEST_F(SilenceTest, ARecoveryHasItsGraceAnew) {
  silence_.Forgive("this server slept");
  EXPECT_FALSE(
      world_.HasTimer({world_.now() + world_.options.lease_ms, Timer::Kind::kGrace, 0, 0}));
  world_.Recover(true);
  world_.SetGrace(world_.now() + 1);
  silence_.Forgive("this server slept");
  EXPECT_FALSE(world_.HasTimer({world_.now() + 1, Timer::Kind::kGrace, 0, 0}));
  EXPECT_TRUE(world_.HasTimer({world_.now() + world_.options.lease_ms, Timer::Kind::kGrace, 0, 0}));
}

TEST_F(SilenceTest, TheDeadAreForgivenNothing) {
  world_.Die(one_);
  one_.lease_end = 0;
  silence_.Forgive("this server slept");
  EXPECT_EQ(one_.lease_end, 0);
  EXPECT_NE(other_.lease_end, 0);
}

}  // namespace
}  // namespace tensorhub::hub
