// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/calls.h"

#include <gtest/gtest.h>

#include <variant>

namespace tensorhub::hub {
namespace {

constexpr OpKind kKind = OpKind::kPublish;

class CallsTest : public testing::Test {
 protected:
  static Operation Call(CallId call, OpId op) { return Operation{call, {}, op}; }

  // True: it was dealt with.
  bool Come(CallId call, OpId op, OpKind kind = kKind) {
    out_.clear();
    if (calls_.Repeat(worker_, Call(call, op), kind, out_)) return true;
    calls_.Begin(worker_, Call(call, op), kind);
    return false;
  }
  void Finish(absl::Status status) {
    out_.clear();
    calls_.Finish(worker_, std::move(status), {}, out_);
  }
  // The one reply of the last step.
  const Reply& Answer() {
    EXPECT_EQ(out_.size(), 1u);
    return std::get<Reply>(out_.front());
  }

  Worker worker_;
  Calls calls_;
  Effects out_;
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
  Finish(absl::UnavailableError("repeat this call"));
  worker_.op.state = OpRecord::State::kOpen;
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
  EXPECT_TRUE(out_.empty());
  EXPECT_TRUE(Come(11, 1));
  EXPECT_TRUE(Answer().status.ok());
}

}  // namespace
}  // namespace tensorhub::hub
