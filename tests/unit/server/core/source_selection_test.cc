// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/source_selection.h"

#include <gtest/gtest.h>

namespace tensorhub::hub {
namespace {

constexpr uint32_t kReaders = 2;

Candidate Make(const std::string& group) {
  Candidate candidate;
  candidate.worker = {"m", group, 0};
  return candidate;
}

TEST(SourceSelectionTest, NobodyIsNobody) { EXPECT_FALSE(Best({}, kReaders)); }

TEST(SourceSelectionTest, AheadComesBeforeNear) {
  Candidate near = Make("near"), ahead = Make("ahead");
  near.tier = Tier::kHost;
  near.behind = true;
  EXPECT_EQ(Best({near, ahead}, kReaders)->worker, ahead.worker);
}

TEST(SourceSelectionTest, NearComesBeforeFree) {
  Candidate near = Make("near"), idle = Make("idle");
  near.tier = Tier::kRack;
  near.readers = kReaders;
  EXPECT_EQ(Best({near, idle}, kReaders)->worker, near.worker);
}

TEST(SourceSelectionTest, ThenFewestReadersThenProgressThenStable) {
  Candidate a = Make("a"), b = Make("b");
  a.readers = 1;
  a.valid_chunks = 9;
  EXPECT_TRUE(IsBetter(b, a, kReaders));
  b.readers = 1;
  EXPECT_TRUE(IsBetter(a, b, kReaders));
  b.valid_chunks = 9;
  a.stable = false;
  EXPECT_TRUE(IsBetter(b, a, kReaders));
  a.stable = true;
  EXPECT_TRUE(IsBetter(a, b, kReaders)) << "equal ones go by name";
}

}  // namespace
}  // namespace tensorhub::hub
