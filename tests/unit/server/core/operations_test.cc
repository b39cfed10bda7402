// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R9: operations of workers that do not keep to the protocol. Retries as they should be are in
// scenarios/retries.txt.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/core/hub.h"

namespace tensorhub::hub {
namespace {

template <typename Op>
Op OperationOf(CallId call, OpId op) {
  Op out;
  out.call = call;
  out.worker = {{"m", "a", 0}, 7};
  out.op = op;
  return out;
}

std::vector<Reply> RepliesTo(Hub& hub, const Event& event) {
  Effects effects;
  hub.Apply(event, 1000, effects);
  hub.CheckInvariants();
  std::vector<Reply> replies;
  for (const Effect& effect : effects) {
    if (const auto* reply = std::get_if<Reply>(&effect)) replies.push_back(*reply);
  }
  return replies;
}

// The answer of the one would be no answer to the other.
TEST(OperationsTest, ANumberIsNotUsedForTwoKindsOfCalls) {
  Hub hub({}, 1000);
  SessionOpened open;
  open.session = 1;
  open.worker = {{"m", "a", 0}, 7};
  open.number = 1;
  open.world_size = 1;
  EXPECT_TRUE(RepliesTo(hub, open).empty());
  auto join = OperationOf<JoinFetchOp>(1, 3);
  join.selector = {Selector::Kind::kNewerThan, 5};
  join.timeout_ms = 5000;
  EXPECT_TRUE(RepliesTo(hub, join).empty()) << "it waits";
  std::vector<Reply> replies = RepliesTo(hub, OperationOf<UnpublishOp>(2, 3));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].call, 2u);
  EXPECT_EQ(replies[0].status.code(), absl::StatusCode::kInvalidArgument);
  // Also once it is answered.
  ASSERT_EQ(RepliesTo(hub, OperationOf<UnpublishOp>(3, 4)).size(), 2u);
  replies = RepliesTo(hub, OperationOf<PublishOp>(4, 4));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tensorhub::hub
