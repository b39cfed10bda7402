// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/frame_plan.h"

#include <algorithm>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace tensorhub::agent {
namespace {

constexpr uint64_t kFrame = 100;

// The ends of all frames of [0, total), with nothing but the frame size as a limit.
std::vector<uint64_t> Ends(const FramePlan& plan, uint64_t total) {
  std::vector<uint64_t> ends;
  for (uint64_t at = 0; at < total;) {
    at = plan.EndOfFrame(at, std::min(total, at + kFrame));
    ends.push_back(at);
  }
  return ends;
}

TEST(FramePlan, WithoutPiecesNothingIsCut) { EXPECT_EQ(FramePlan().EndOfFrame(30, 130), 130u); }

TEST(FramePlan, LargePiecesTravelAlone) {
  const FramePlan plan({0, 150, 290}, 400, kFrame);
  EXPECT_EQ(Ends(plan, 400), (std::vector<uint64_t>{100, 150, 250, 290, 390, 400}));
}

TEST(FramePlan, SmallPiecesAreGathered) {
  const FramePlan plan({0, 20, 40, 60, 80, 100, 120, 140, 160, 180}, 200, kFrame);
  EXPECT_EQ(Ends(plan, 200), (std::vector<uint64_t>{100, 200}));
}

// Five of them travel from where they lie, six would have to be gathered.
TEST(FramePlan, MiddlingPiecesTravelByFives) {
  const FramePlan plan({0, 22, 44, 66, 88, 110, 132, 154, 176, 198, 220, 242}, 264, kFrame);
  EXPECT_EQ(Ends(plan, 264), (std::vector<uint64_t>{100, 198, 264}));
}

TEST(FramePlan, SmallPiecesEndWhereALargeOneBegins) {
  const FramePlan plan({0, 20, 40, 200, 210}, 250, kFrame);
  EXPECT_EQ(Ends(plan, 250), (std::vector<uint64_t>{40, 140, 200, 210, 250}));
}

TEST(FramePlan, EveryFrameAdvancesWithinItsLimit) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> begins{0};
    while (begins.size() < 50) begins.push_back(begins.back() + 1 + random.Below(2 * kFrame));
    const uint64_t total = begins.back() + 1 + random.Below(kFrame);
    const FramePlan plan(begins, total, kFrame);
    const uint64_t begin = random.Below(total);
    const uint64_t limit = begin + 1 + random.Below(std::min(kFrame, total - begin));
    const uint64_t end = plan.EndOfFrame(begin, limit);
    EXPECT_GT(end, begin);
    EXPECT_LE(end, limit);
    // Cut short only where a piece begins.
    EXPECT_TRUE(end == limit || std::binary_search(begins.begin(), begins.end(), end));
  }
}

}  // namespace
}  // namespace tensorhub::agent
