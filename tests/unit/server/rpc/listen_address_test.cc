// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorhub::rpc {
namespace {

TEST(ListenAddressTest, NamesThatDoNotResolve) {
  const absl::Status status = TryToListen({"no-such-host.invalid", 0});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("no-such-host.invalid"));
}

}  // namespace
}  // namespace tensorhub::rpc
