// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/calls.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/server/core/part_world.h"

namespace tensorhub::hub {
namespace {

constexpr OpKind kKind = OpKind::kPublish;

class CallsTest : public testing::Test {
 protected:
  static Operation Call(CallId call, OpId op) { return Operation{call, {}, op}; }

  // True: it was dealt with.
  bool Come(CallId call, OpId op, OpKind kind = kKind) {
    world_.effects.clear();
    if (calls_.Repeat(worker_, Call(call, op), kind)) return true;
    calls_.Begin(worker_, Call(call, op), kind);
    return false;
  }
  void Finish(absl::Status status) {
    world_.effects.clear();
    calls_.Finish(worker_, std::move(status));
  }
  // The one reply of the last step.
  Reply Answer() {
    EXPECT_EQ(world_.effects.size(), 1u);
    return world_.All<Reply>().at(0);
  }

  Worker worker_;
  PartWorld world_;
  Calls calls_{world_};
};

TEST_F(CallsTest, ANewOneIsPendingUntilItIsFinished) {
  EXPECT_FALSE(Come(10, 1));
  EXPECT_TRUE(IsPending(worker_, kKind));
  EXPECT_TRUE(calls_.IsCallOf(10, worker_));
  Finish(absl::OkStatus());
  EXPECT_EQ(Answer().call, 10u);
  EXPECT_TRUE(Answer().status.ok());
  EXPECT_EQ(calls_.size(), 0u);
  EXPECT_EQ(worker_.op.call, 0u);
}

TEST_F(CallsTest, ARetryHearsTheSame) {
  Come(10, 1);
  Finish(absl::NotFoundError("gone"));
  EXPECT_TRUE(Come(11, 1));
  EXPECT_EQ(Answer().call, 11u);
  EXPECT_EQ(Answer().status, absl::NotFoundError("gone"));
}

TEST_F(CallsTest, ARetryOfWhatIsPendingTakesItOver) {
  Come(10, 1);
  EXPECT_TRUE(Come(11, 1));
  EXPECT_EQ(Answer().call, 10u) << "the older call is told so";
  EXPECT_TRUE(absl::IsCancelled(Answer().status));
  EXPECT_FALSE(calls_.IsCallOf(10, worker_));
  Finish(absl::OkStatus());
  EXPECT_EQ(Answer().call, 11u);
}

TEST_F(CallsTest, WhatIsOpenIsCarriedOutAgain) {
  Come(10, 1);
  calls_.ReplyRetryable(worker_, absl::UnavailableError("repeat this call"));
  EXPECT_FALSE(Come(11, 1));
  EXPECT_TRUE(IsPending(worker_, kKind));
}

TEST_F(CallsTest, NumbersRiseAndAreUsedOnce) {
  EXPECT_TRUE(Come(9, 0));
  EXPECT_TRUE(absl::IsInvalidArgument(Answer().status));
  Come(10, 2);
  Finish(absl::OkStatus());
  EXPECT_TRUE(Come(11, 1));
  EXPECT_TRUE(absl::IsAborted(Answer().status)) << "it is late";
  EXPECT_TRUE(Come(12, 2, OpKind::kLeave));
  EXPECT_TRUE(absl::IsInvalidArgument(Answer().status)) << "it was another kind of call";
}

TEST_F(CallsTest, WithoutItsCallerTheReplyIsKept) {
  Come(10, 1);
  EXPECT_EQ(calls_.HangUp(10), &worker_);
  EXPECT_EQ(calls_.HangUp(10), nullptr);
  Finish(absl::OkStatus());
  EXPECT_TRUE(world_.effects.empty());
  EXPECT_TRUE(Come(11, 1));
  EXPECT_TRUE(Answer().status.ok());
}

TEST_F(CallsTest, AnotherTimeTakesThePlaceOfTheFirst) {
  Come(10, 1);
  calls_.SetDeadline(worker_, 500);
  calls_.SetDeadline(worker_, 900);
  const auto timer_in = [this](TimeMs ms) {
    return Timer{world_.now() + ms, Timer::Kind::kOperation, worker_.serial, 0};
  };
  EXPECT_FALSE(world_.HasTimer(timer_in(500)));
  EXPECT_TRUE(world_.HasTimer(timer_in(900)));
}

TEST_F(CallsTest, TheReplyEndsTheTime) {
  Come(10, 1);
  calls_.SetDeadline(worker_, 500);
  const Timer timer{world_.now() + 500, Timer::Kind::kOperation, worker_.serial, 0};
  EXPECT_EQ(worker_.op.deadline, timer.at);
  EXPECT_TRUE(world_.HasTimer(timer));
  Finish(absl::OkStatus());
  EXPECT_EQ(worker_.op.deadline, 0);
  EXPECT_FALSE(world_.HasTimer(timer));
}

TEST_F(CallsTest, ThatItWasPublishedIsTakenBack) {
  Come(10, 1);
  Finish(absl::AbortedError("no"));
  Calls::TakePublishBack(worker_);
  EXPECT_TRUE(Come(11, 1)) << "that it was not stays so";
  Come(12, 2);
  Finish(absl::OkStatus());
  Calls::TakePublishBack(worker_);
  EXPECT_FALSE(Come(13, 2));
}

}  // namespace
}  // namespace tensorhub::hub
