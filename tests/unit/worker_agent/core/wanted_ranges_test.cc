// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/wanted_ranges.h"

#include <algorithm>

#include "common/bytes.h"
#include "common/random.h"
#include "gtest/gtest.h"

namespace tensorhub::agent {
namespace {

// Ascending, of all kinds: `count` of them, from `at` on.
std::vector<WantedRange> SomeRanges(Random& random, size_t count, uint64_t at) {
  std::vector<WantedRange> ranges;
  for (size_t i = 0; i < count; ++i) {
    WantedRange range{at + random.Below(3) * random.Below(20), 1 + random.Below(9), 0, 1};
    if (random.Below(2) == 0) {
      range.count = 2 + random.Below(4);
      range.stride = range.run + random.Below(5);
    }
    ranges.push_back(range);
    at = range.end();
  }
  return ranges;
}

std::vector<uint64_t> BytesOf(const std::vector<WantedRange>& ranges) {
  std::vector<uint64_t> bytes;
  for (const WantedRange& range : ranges) {
    for (uint64_t run = 0; run < range.count; ++run) {
      for (uint64_t i = 0; i < range.run; ++i)
        bytes.push_back(range.begin + run * range.stride + i);
    }
  }
  return bytes;
}

TEST(WantedRanges, ComeBackAsTheyWere) {
  Random random(1);
  for (int round = 0; round < 1000; ++round) {
    const auto ranges = SomeRanges(random, random.Below(kRangesPerMessage + 1), 0);
    EXPECT_EQ(DecodeRanges(EncodeRanges(ranges)), ranges);
  }
}

TEST(WantedRanges, TheWorstFitIntoAMessage) {
  const uint64_t great = uint64_t{1} << 59;
  std::vector<WantedRange> ranges;
  for (size_t i = 0; i < kRangesPerMessage; ++i) ranges.push_back({great + 2 * i, 1, 0, 1});
  ranges.back() = {great + (uint64_t{1} << 58), 1, (uint64_t{1} << 27), uint64_t{1} << 27};
  const std::string text = EncodeRanges(ranges);
  EXPECT_LE(text.size(), 4096u);
  EXPECT_EQ(DecodeRanges(text), ranges);
}

TEST(WantedRanges, RefusesWhatNobodyWouldWant) {
  const uint64_t great = uint64_t{1} << 62;
  const std::vector<WantedRange> bad = {{0, 0, 0, 1},                  // empty
                                        {0, 1, 0, 0},                  // likewise
                                        {0, 2, 1, 2},                  // runs into itself
                                        {0, 1, 7, 1},                  // a stride to nowhere
                                        {great, 1, 0, 1},              // beyond everything
                                        {0, great, 0, 1},              //
                                        {0, 1, great, 8},              // wraps round
                                        {0, 1, 2, ~uint64_t{0}},       //
                                        {~uint64_t{0}, 1, 0, 1},       //
                                        {1, 1, ~uint64_t{0} / 2, 3}};  //
  for (const WantedRange& range : bad) {
    EXPECT_FALSE(DecodeRanges(EncodeRanges({range}))) << range.begin << " " << range.run;
  }
  EXPECT_FALSE(DecodeRanges(EncodeRanges({{5, 2, 0, 1}, {6, 1, 0, 1}}))) << "overlap";
  EXPECT_FALSE(DecodeRanges(EncodeRanges({{5, 2, 0, 1}, {1, 1, 0, 1}}))) << "go back";
  std::string many = EncodeRanges(std::vector<WantedRange>(1, {0, 1, 0, 1}));
  ByteWriter writer(many);
  for (uint64_t i = 1; i <= kRangesPerMessage; ++i) {
    for (const uint64_t value : {i, uint64_t{1}, uint64_t{0}, uint64_t{1}}) writer.PutVarint(value);
  }
  EXPECT_FALSE(DecodeRanges(many)) << "too many";
  EXPECT_FALSE(DecodeRanges(EncodeRanges({{1, 2, 0, 1}}).substr(0, 3))) << "cut off";
}

TEST(RangeQueue, HandsOutEveryByteOnceInOrder) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    RangeQueue queue;
    std::vector<uint64_t> wanted;
    std::vector<uint64_t> sent;
    uint64_t at = 0;
    uint64_t valid = 0;
    for (int step = 0; step < 60; ++step) {
      if (step < 20) {
        const auto more = SomeRanges(random, random.Below(4), at);
        ASSERT_TRUE(queue.Append(more));
        for (const uint64_t byte : BytesOf(more)) wanted.push_back(byte);
        if (!more.empty()) at = more.back().end();
      }
      valid = step == 59 ? at : std::min(at, valid + random.Below(40));
      // Everything in front of the first byte that is not valid.
      const auto first =
          std::find_if(wanted.begin(), wanted.end(), [&](uint64_t byte) { return byte >= valid; });
      const auto available = static_cast<uint64_t>(first - wanted.begin());
      EXPECT_EQ(queue.AvailableEnd(valid), std::max<uint64_t>(available, sent.size()));
      // Some of it at a time, of one run or of several.
      while (sent.size() < available) {
        EXPECT_EQ(queue.position(), sent.size());
        RangeQueue::Walk walk(queue);
        uint64_t taken = 0;
        for (uint64_t runs = 1 + random.Below(4); runs > 0; --runs) {
          const ByteRange piece = walk.Next(valid, 1 + random.Below(9));
          if (piece.bytes == 0) break;
          ASSERT_LE(piece.begin + piece.bytes, valid);
          const uint64_t bytes = 1 + random.Below(piece.bytes);
          for (uint64_t i = 0; i < bytes; ++i) sent.push_back(piece.begin + i);
          walk.Pass(bytes);
          taken += bytes;
        }
        ASSERT_GT(taken, 0u);
        queue.Take(taken);
      }
      EXPECT_EQ(RangeQueue::Walk(queue).Next(valid, 1).bytes, 0u);
      EXPECT_EQ(sent.size(), available);
    }
    EXPECT_EQ(sent, wanted);
    EXPECT_TRUE(queue.empty());
  }
}

TEST(RangeQueue, TakesNoMoreThanItsBoundAndNothingBehindTheFirst) {
  RangeQueue queue;
  uint64_t at = 0;
  for (size_t i = 0; i < RangeQueue::kRangesMax; ++i, at += 2) {
    ASSERT_TRUE(queue.Append({{at, 1, 0, 1}}));
  }
  EXPECT_FALSE(queue.Append({{at, 1, 0, 1}}));
  queue.Take(1);
  EXPECT_TRUE(queue.Append({{at, 1, 0, 1}}));
  queue.Take(1);
  EXPECT_FALSE(queue.Append({{at - 2, 1, 0, 1}})) << "in front of what waits";
  while (!queue.empty()) queue.Take(1);
  EXPECT_TRUE(queue.Append({{0, 1, 0, 1}})) << "what was sent does not count";
}

}  // namespace
}  // namespace tensorhub::agent
