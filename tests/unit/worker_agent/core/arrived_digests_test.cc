// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/arrived_digests.h"

#include "gtest/gtest.h"

namespace tensorhub::agent {
namespace {

TEST(ArrivedDigests, InAnyOrder) {
  ArrivedDigests arrived;
  EXPECT_FALSE(arrived.Of(0));
  arrived.Set(1'000'007, 7);
  arrived.Set(1'000'004, 4);
  arrived.Set(1'000'009, 9);
  for (const uint32_t chunk : {4, 7, 9}) EXPECT_EQ(arrived.Of(1'000'000 + chunk), chunk);
  for (const uint32_t chunk : {0, 3, 5, 8, 10}) EXPECT_FALSE(arrived.Of(1'000'000 + chunk));
  EXPECT_FALSE(arrived.Of(7));
}

TEST(ArrivedDigests, WhatIsCommittedIsForgotten) {
  ArrivedDigests arrived;
  arrived.ForgetBelow(5);
  for (uint32_t chunk = 3; chunk < 8; ++chunk) arrived.Set(chunk, chunk);
  arrived.ForgetBelow(6);
  EXPECT_FALSE(arrived.Of(5));
  EXPECT_EQ(arrived.Of(6), 6u);
  arrived.ForgetBelow(100);
  EXPECT_FALSE(arrived.Of(7));
  arrived.Set(8, 1);
  EXPECT_EQ(arrived.Of(8), 1u);
}

}  // namespace
}  // namespace tensorhub::agent
