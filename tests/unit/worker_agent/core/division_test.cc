// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/division.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "common/random.h"

namespace tensorhub::agent {
namespace {

constexpr uint64_t kChunk = 100;
constexpr uint64_t kAll = ~uint64_t{0};

// As pairs of begin and end.
std::vector<std::pair<uint64_t, uint64_t>> Given(Division& division, uint64_t behind,
                                                 uint64_t horizon) {
  std::vector<std::pair<uint64_t, uint64_t>> out;
  for (const ReadItem& item : division.Give(0, behind, horizon)) {
    EXPECT_EQ(item.source_offset, item.reader_offset);
    out.emplace_back(item.reader_offset, item.reader_end());
  }
  return out;
}

ReadItem RunOf(uint64_t begin, uint64_t end) {
  ReadItem item;
  item.source_offset = item.reader_offset = begin;
  item.run_bytes = end - begin;
  return item;
}

using Blocks = std::vector<std::pair<uint64_t, uint64_t>>;

TEST(Spread, GivesBlocksOfWholeChunksInOrder) {
  Spread spread({1030, kChunk}, 2, 350);
  EXPECT_EQ(spread.LowWater(), 200u);
  EXPECT_EQ(Given(spread, 0, kAll), (Blocks{{200, 500}}));
  EXPECT_EQ(Given(spread, 0, kAll), (Blocks{{500, 800}}));
  EXPECT_EQ(spread.LowWater(), 800u);
  EXPECT_EQ(Given(spread, 500, kAll), (Blocks{{800, 1030}}));
  EXPECT_EQ(Given(spread, 0, kAll), Blocks{});
  EXPECT_EQ(spread.LowWater(), 1030u);
}

TEST(Spread, GivesAChunkAtLeastAndNothingBehindTheHorizon) {
  Spread spread({1000, kChunk}, 0, 1);
  EXPECT_EQ(Given(spread, 0, 0), Blocks{});
  EXPECT_EQ(Given(spread, 0, 1), (Blocks{{0, 100}}));
  EXPECT_EQ(Given(spread, 0, 100), Blocks{});
  EXPECT_EQ(Given(spread, 0, 101), (Blocks{{100, 200}}));
}

// Else what a lost source was to bring would hold the prefix up for as long as there is more.
TEST(Spread, WhatIsGivenBackComesFirstAndNoOneGoesOnInFrontOfIt) {
  Spread spread({1000, kChunk}, 0, 200);
  for (int i = 0; i < 3; ++i) spread.Give(0, 0, kAll);
  spread.TakeBack(0, {RunOf(100, 200)});
  spread.TakeBack(1, {RunOf(200, 400)});
  EXPECT_EQ(spread.LowWater(), 100u);
  EXPECT_EQ(Given(spread, 600, kAll), Blocks{});
  EXPECT_EQ(Given(spread, 0, kAll), (Blocks{{100, 300}}));
  EXPECT_EQ(Given(spread, 300, kAll), (Blocks{{300, 400}}));
  EXPECT_EQ(Given(spread, 400, kAll), (Blocks{{600, 800}}));
}

TEST(Spread, AReadThatIsWholeHasNothingToGive) {
  Spread spread({1000, kChunk}, 10, 200);
  EXPECT_EQ(spread.LowWater(), 1000u);
  EXPECT_EQ(Given(spread, 0, kAll), Blocks{});
}

// Whatever is taken back, each byte is one stream's or nobody's.
TEST(Spread, EachByteIsGivenOnce) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const uint64_t total = 1 + random.Below(3000);
    Spread spread({total, kChunk}, 0, 1 + random.Below(400));
    std::vector<int> owner(total, -1);
    for (int step = 0; step < 200; ++step) {
      const int part = static_cast<int>(random.Below(3));
      const auto mine = [&](uint64_t byte) { return owner[byte] == part; };
      if (random.Below(3) == 0) {
        uint64_t begin = random.Below(total) / kChunk * kChunk;
        uint64_t end = begin;
        while (end < total && mine(end)) ++end;
        if (end == begin) continue;
        spread.TakeBack(static_cast<uint32_t>(part), {RunOf(begin, end)});
        std::fill(owner.begin() + static_cast<ptrdiff_t>(begin),
                  owner.begin() + static_cast<ptrdiff_t>(end), -1);
      } else {
        for (const ReadItem& item :
             spread.Give(static_cast<uint32_t>(part), 0, random.Below(total))) {
          for (uint64_t byte = item.reader_offset; byte < item.reader_end(); ++byte) {
            ASSERT_EQ(owner[byte], -1) << "seed " << seed;
            owner[byte] = part;
          }
        }
      }
      const auto free = std::find(owner.begin(), owner.end(), -1);
      ASSERT_EQ(spread.LowWater(), static_cast<uint64_t>(free - owner.begin())) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tensorhub::agent
