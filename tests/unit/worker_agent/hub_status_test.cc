// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "worker_agent/hub/status.h"

namespace tensorhub::agent {
namespace {

using std::chrono::hours;
using std::chrono::steady_clock;

const grpc::Status kTimeOut(grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded");

TEST(HubStatusTest, ATimeOutOfTheHubsIsItsAnswer) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(HubStatus(kTimeOut, steady_clock::now() + hours(1))));
}

TEST(HubStatusTest, ATimeOutOfOursSaysThatTheHubWasNotReached) {
  const absl::Status status = HubStatus(kTimeOut, steady_clock::now() - hours(1));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(status.message(), "the server did not answer in time");
}

TEST(HubStatusTest, ALostConnectionIsNoAnswer) {
  using grpc::StatusCode;
  EXPECT_TRUE(absl::IsUnavailable(HubStatus({StatusCode::CANCELLED, "CANCELLED"})));
  EXPECT_TRUE(absl::IsUnavailable(HubStatus({StatusCode::UNKNOWN, "Stream removed"})));
  EXPECT_EQ(HubStatus({StatusCode::UNKNOWN, "odd"}).code(), absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace tensorhub::agent
