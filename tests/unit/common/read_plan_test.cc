// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/read_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"

namespace tensorhub {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

// One rank of a group: slices of tensors, one after the other in its byte space.
class Shard {
 public:
  Shard& Add(std::string name, std::vector<uint64_t> global, std::vector<uint64_t> offset,
             std::vector<uint64_t> shape, DType dtype = DType::kU8) {
    kept_.push_back(
        {std::move(name), dtype, std::move(global), std::move(offset), std::move(shape)});
    return *this;
  }
  // Views of this. Shards of one number are equal.
  ShardSlices Numbered(uint64_t number) const {
    ShardSlices slices{{1, number}, 0, {}};
    for (const Kept& kept : kept_) {
      uint64_t bits = BitsOf(kept.dtype);
      for (uint64_t extent : kept.shape) bits *= extent;
      slices.slices.push_back(
          {kept.name, kept.dtype, kept.global, kept.offset, kept.shape, slices.total_bytes});
      slices.total_bytes += bits / 8;
    }
    return slices;
  }

 private:
  struct Kept {
    std::string name;
    DType dtype;
    std::vector<uint64_t> global, offset, shape;
  };
  std::vector<Kept> kept_;
};

Sharding Of(const std::vector<Shard>& shards) {
  ShardingBuilder builder(static_cast<uint32_t>(shards.size()));
  for (Rank rank = 0; rank < shards.size(); ++rank) {
    builder.Add(rank, shards[rank].Numbered(100 * shards.size() + rank));
  }
  return std::move(builder).Build().value();
}

std::string Refusal(const Sharding& source, const Sharding& reader) {
  const absl::StatusOr<Coverage> coverage = CheckCover(source, reader);
  EXPECT_EQ(coverage.status().code(), kRefused);
  // The reader says the same.
  EXPECT_EQ(PlanRead(source, reader, 0).status(), coverage.status());
  return std::string(coverage.status().message());
}

// A matrix "w" of 4 x 6 bytes, cut by rows or columns.
Shard Rows(uint64_t begin, uint64_t end) {
  Shard shard;
  return shard.Add("w", {4, 6}, {begin, 0}, {end - begin, 6});
}
Shard Columns(uint64_t begin, uint64_t end) {
  Shard shard;
  return shard.Add("w", {4, 6}, {0, begin}, {4, end - begin});
}

TEST(ReadPlan, RowsToColumnsAreStridedCopies) {
  const Sharding source = Of({Rows(0, 3), Rows(3, 4)});
  const Sharding reader = Of({Columns(0, 2), Columns(2, 6)});
  const absl::StatusOr<ReadPlan> plan = PlanRead(source, reader, 1);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->streams.size(), 2u);
  EXPECT_EQ(plan->reader_bytes, 16u);
  const ReadItem upper = {0, 2, 0, 4, 3, 6, 4};
  EXPECT_THAT(plan->streams[0].copies.items(), ElementsAre(upper));
  const ReadItem lower = {0, 2, 12, 4, 1, 4, 4};
  EXPECT_THAT(plan->streams[1].copies.items(), ElementsAre(lower));
}

TEST(ReadPlan, WhatGoesOnInBothSpacesIsOneCopy) {
  Shard all, first;
  all.Add("a", {4}, {0}, {4}).Add("b", {2, 2}, {0, 0}, {2, 2}).Add("c", {}, {}, {});
  first.Add("a", {4}, {0}, {4}).Add("b", {2, 2}, {0, 0}, {2, 2});
  const auto plan = PlanRead(Of({all}), Of({first, all}), 0);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->items, 1u);
  EXPECT_EQ(plan->streams[0].copies.items()[0].run_bytes, 8u);
}

TEST(ReadPlan, SharesAreOfTheReadersBytes) {
  const auto coverage = CheckCover(Of({Rows(0, 3), Rows(3, 4)}), Of({Rows(0, 4), Rows(4, 4)}));
  ASSERT_TRUE(coverage.ok()) << coverage.status();
  ASSERT_EQ(coverage->needs.size(), 2u);
  EXPECT_THAT(coverage->needs[0], ElementsAre(ReadNeed{0, 18, 768}, ReadNeed{1, 6, 256}));
  EXPECT_THAT(coverage->needs[1], IsEmpty());
  EXPECT_TRUE(coverage->full);
}

TEST(ReadPlan, ASubsetIsReadButIsNotFull) {
  Shard both;
  both.Add("v", {2}, {0}, {2}).Add("w", {4, 6}, {0, 0}, {4, 6});
  const auto subset = CheckCover(Of({both}), Of({Rows(0, 4)}));
  ASSERT_TRUE(subset.ok()) << subset.status();
  EXPECT_FALSE(subset->full);
  EXPECT_NE(subset->missing, "");
  const auto half = CheckCover(Of({Rows(0, 4)}), Of({Rows(0, 2), Rows(0, 3)}));
  ASSERT_TRUE(half.ok()) << half.status();
  EXPECT_FALSE(half->full);
}

// TP 8 to TP 2: the norms, which all have, do not bring more sources in.
TEST(ReadPlan, ReplicatedTensorsComeFromThoseWhoAreNeededAnyway) {
  const auto cut = [](uint64_t parts) {
    std::vector<Shard> shards(parts);
    for (uint64_t i = 0; i < parts; ++i) {
      for (uint64_t norm = 0; norm < 32; ++norm) {
        shards[i].Add(absl::StrCat("norm", norm + 10), {16}, {0}, {16});
      }
      shards[i].Add("w", {16, 4}, {i * 16 / parts, 0}, {16 / parts, 4});
    }
    return Of(shards);
  };
  const auto coverage = CheckCover(cut(8), cut(2));
  ASSERT_TRUE(coverage.ok()) << coverage.status();
  ASSERT_EQ(coverage->needs[1].size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(coverage->needs[1][i].shard, 4 + i);
    EXPECT_GT(coverage->needs[1][i].bytes, 8u);  // each has some norms, too
  }
}

// Phi-3 fuses q, k and v; a rank of TP 2 holds three boxes of rows.
TEST(ReadPlan, SeveralBoxesOfATensorAtOneRank) {
  const auto tp2 = [](uint64_t rank) {
    Shard shard;
    shard.Add("qkv", {16, 2}, {4 * rank, 0}, {4, 2});
    shard.Add("qkv", {16, 2}, {8 + 2 * rank, 0}, {2, 2});
    return shard.Add("qkv", {16, 2}, {12 + 2 * rank, 0}, {2, 2});
  };
  const auto fsdp = [](uint64_t begin, uint64_t end) {
    Shard shard;
    return shard.Add("qkv", {16, 2}, {begin, 0}, {end - begin, 2});
  };
  const Sharding engine = Of({tp2(0), tp2(1)});
  const Sharding trainer = Of({fsdp(0, 6), fsdp(6, 11), fsdp(11, 16)});
  const auto plan = PlanRead(trainer, engine, 1);
  ASSERT_TRUE(plan.ok()) << plan.status();
  // Rows 4-8, 10-12 and 14-16.
  EXPECT_THAT(plan->streams[0].copies.items(), ElementsAre(ReadItem{0, 8, 0, 4, 1, 4, 4}));
  EXPECT_THAT(plan->streams[1].copies.items(),
              ElementsAre(ReadItem{0, 0, 4, 4, 1, 4, 4}, ReadItem{4, 8, 8, 2, 1, 2, 2}));
  EXPECT_THAT(plan->streams[2].copies.items(),
              ElementsAre(ReadItem{0, 0, 10, 2, 1, 2, 2}, ReadItem{2, 6, 12, 4, 1, 4, 4}));
  const auto back = CheckCover(engine, trainer);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(back->full);
}

// One rank holds all, two others a corner each: what is left to the first may be the other two
// corners, which touch and are no box. Who is preferred hangs on the name.
TEST(ReadPlan, WhatIsLeftOfASliceNeedNotBeABox) {
  bool seen = false;
  for (uint64_t i = 0; i < 40; ++i) {
    const std::string name = absl::StrCat("w", i);
    Shard whole, upper, lower;
    whole.Add(name, {2, 2}, {0, 0}, {2, 2});
    upper.Add("v", {1}, {0}, {1}).Add(name, {2, 2}, {0, 1}, {1, 1});
    lower.Add(name, {2, 2}, {1, 0}, {1, 1}).Add("x", {1}, {0}, {1});
    Shard all;
    all.Add("v", {1}, {0}, {1}).Add(name, {2, 2}, {0, 0}, {2, 2}).Add("x", {1}, {0}, {1});
    const auto plan = PlanRead(Of({whole, upper, lower}), Of({all}), 0);
    ASSERT_TRUE(plan.ok()) << plan.status();
    uint64_t bytes = 0;
    for (const ReadPlan::Stream& stream : plan->streams) bytes += stream.copies.bytes();
    EXPECT_EQ(bytes, 6u);
    const ReadItem begin = {0, 0, 1, 1, 1, 1, 1}, end = {1, 3, 4, 1, 1, 1, 1};
    seen |= plan->streams[0].shard == 0 &&
            plan->streams[0].copies.items() == std::vector<ReadItem>{begin, end};
  }
  EXPECT_TRUE(seen);
}

// Of what nobody wants a byte, nobody has to know the name.
TEST(ReadPlan, AnEmptySliceNeedsNobody) {
  Shard reader;
  reader.Add("unknown", {4}, {4}, {0}).Add("w", {4, 6}, {0, 0}, {4, 6});
  const auto coverage = CheckCover(Of({Rows(0, 4)}), Of({reader}));
  ASSERT_TRUE(coverage.ok()) << coverage.status();
  EXPECT_TRUE(coverage->full);
  EXPECT_TRUE(PlanRead(Of({Rows(0, 4)}), Of({reader}), 0).ok());
  EXPECT_TRUE(CheckCover(Of({reader}), Of({Rows(0, 4)}))->full);
}

// Two tensors that no needed source holds bring in a source each. If the second one's brings both,
// the first one's is needed no more, and is no stream. Who is preferred hangs on name and number.
TEST(ReadPlan, WhoBringsNothingIsNoStream) {
  constexpr uint64_t kSole = kReadStreamsMax - 1;
  int taken = 0;
  for (uint64_t i = 0; i < 60; ++i) {
    const std::string left = absl::StrCat("left", i), right = absl::StrCat("right", i);
    std::vector<Shard> sources(kSole + 3 + i);
    for (uint64_t rank = 0; rank < kSole; ++rank) sources[rank].Add("sole", {kSole}, {rank}, {1});
    sources[kSole].Add(left, {4}, {0}, {4});
    sources[kSole + 1].Add(left, {4}, {0}, {4}).Add(right, {4}, {0}, {4});
    sources[kSole + 2].Add(right, {4}, {0}, {4});
    Shard one, both;
    one.Add(left, {4}, {0}, {4}).Add("sole", {kSole}, {0}, {kSole});
    both.Add(left, {4}, {0}, {4}).Add(right, {4}, {0}, {4}).Add("sole", {kSole}, {0}, {kSole});
    const auto first = CheckCover(Of(sources), Of({one}));
    ASSERT_TRUE(first.ok()) << first.status();
    const auto coverage = CheckCover(Of(sources), Of({both}));
    if (first->needs[0].back().shard != kSole || !coverage.ok()) continue;
    ++taken;
    EXPECT_EQ(coverage->needs[0].back().shard, kSole + 1);
    EXPECT_EQ(coverage->needs[0].back().bytes, 8u);
  }
  EXPECT_GT(taken, 0);
}

// --- what is refused ----------------------------------------------------------------------------

TEST(ReadPlanRefusals, WhatDiffersOrIsMissingIsNamed) {
  Shard one, other;
  one.Add("a", {4}, {0}, {4}).Add("b", {4}, {0}, {4}).Add("ok", {2}, {0}, {2});
  other.Add("a", {2}, {0}, {2}, DType::kBF16).Add("b", {5}, {0}, {4});
  other.Add("c", {4}, {0}, {4}).Add("ok", {2}, {0}, {2});
  EXPECT_THAT(Refusal(Of({one}), Of({other})),
              AllOf(HasSubstr("tensor \"a\" is U8 [4] at its sources and BF16 [2] at its readers"),
                    HasSubstr("tensor \"b\" is U8 [4] at its sources and U8 [5]"),
                    HasSubstr("tensor \"c\" is held by nobody"), Not(HasSubstr("\"ok\"")),
                    HasSubstr("register them as they are published")));
}

TEST(ReadPlanRefusals, AHoleIsNamed) {
  EXPECT_THAT(Refusal(Of({Rows(0, 2), Rows(3, 4)}), Of({Columns(1, 4), Columns(4, 6)})),
              HasSubstr("tensor \"w\" is held by nobody in [2:3, 1:4] of [0:4, 1:4]"));
}

TEST(ReadPlanRefusals, RunsWithinAByte) {
  Shard half, whole;
  half.Add("f4", {2, 4}, {0, 1}, {2, 2}, DType::kF4).Add("f6", {4}, {0}, {4}, DType::kF6E2M3);
  whole.Add("f4", {2, 4}, {0, 0}, {2, 4}, DType::kF4).Add("f6", {4}, {0}, {4}, DType::kF6E2M3);
  EXPECT_THAT(Refusal(Of({whole}), Of({half})),
              AllOf(HasSubstr("tensor \"f4\" has elements of 4 bits"), HasSubstr("within a byte"),
                    Not(HasSubstr("\"f6\""))));
  EXPECT_TRUE(CheckCover(Of({whole}), Of({whole, whole})).ok());
}

// Columns 0-2 and 4-6 at one rank: a reader of all columns takes them in turn, row by row.
TEST(ReadPlanRefusals, SlicesOfARankThatInterleaveAtTheReader) {
  Shard outer;
  outer.Add("w", {4, 6}, {0, 0}, {4, 2}).Add("w", {4, 6}, {0, 4}, {4, 2});
  EXPECT_THAT(
      Refusal(Of({outer, Columns(2, 4)}), Of({Rows(0, 4)})),
      AllOf(HasSubstr("tensor \"w\" has several slices at rank 0"), HasSubstr("in another order")));
}

TEST(ReadPlanRefusals, MoreStreamsThanTheBound) {
  const auto fsdp = [](uint64_t ranks) {
    std::vector<Shard> shards(ranks);
    for (uint64_t i = 0; i < ranks; ++i) shards[i].Add("w", {ranks}, {i}, {1});
    return Of(shards);
  };
  Shard most, all;
  most.Add("w", {kReadStreamsMax}, {0}, {kReadStreamsMax});
  all.Add("w", {kReadStreamsMax + 1}, {0}, {kReadStreamsMax + 1});
  EXPECT_TRUE(CheckCover(fsdp(kReadStreamsMax), Of({most})).ok());
  EXPECT_THAT(Refusal(fsdp(kReadStreamsMax + 1), Of({all})),
              HasSubstr("would read from 513 source ranks; at most 512"));
}

// A cut of the two inner dimensions takes one copy for each element of the outermost one.
TEST(ReadPlanRefusals, MoreCopiesThanTheBound) {
  const auto cut = [](uint64_t outer) {
    Shard whole, part;
    whole.Add("w", {outer, 4, 4}, {0, 0, 0}, {outer, 4, 4});
    part.Add("w", {outer, 4, 4}, {0, 1, 1}, {outer, 2, 2});
    return std::pair(Of({whole}), Of({part}));
  };
  const auto [source, reader] = cut(uint64_t{1} << 40);
  EXPECT_THAT(Refusal(source, reader), HasSubstr("plan longer than 4194304 copies"));
  const auto [small_source, small_reader] = cut(1000);
  EXPECT_EQ(PlanRead(small_source, small_reader, 0)->items, 1000u);
}

// As large as a layout can say: nothing wraps around.
// R9: columns begin all at the same row, so each that is wanted would be held against all.
TEST(ReadPlanRefusals, WhatTakesTooLongToLookAt) {
  constexpr uint64_t kColumns = 20000;
  Shard columns, others;
  for (uint64_t i = 0; i < kColumns; ++i) {
    columns.Add("w", {2, 2 * kColumns}, {0, 2 * i}, {2, 2});
    others.Add("w", {2, 2 * kColumns}, {0, 2 * i}, {2, 1});
  }
  const auto coverage = CheckCover(Of({columns}), Of({others}));
  EXPECT_EQ(coverage.status().code(), kRefused);
  EXPECT_THAT(std::string(coverage.status().message()),
              HasSubstr("tensor \"w\" takes too long to look at"));
}

TEST(ReadPlan, TheLargestTensors) {
  constexpr uint64_t kRows = uint64_t{1} << 40, kColumns = uint64_t{1} << 20;
  Shard whole, right;
  whole.Add("w", {kRows, kColumns}, {0, 0}, {kRows, kColumns});
  right.Add("w", {kRows, kColumns}, {0, kColumns - 2}, {kRows, 2});
  const auto plan = PlanRead(Of({whole}), Of({right}), 0);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const ReadItem item = {0, kColumns - 2, 0, 2, kRows, kColumns, 2};
  ASSERT_THAT(plan->streams[0].copies.items(), ElementsAre(item));
  EXPECT_EQ(plan->streams[0].copies.SourceOffset(item.bytes() - 1), kRows * kColumns - 1);
  EXPECT_EQ(plan->streams[0].copies.PositionBelowSource(~uint64_t{0}), item.bytes());
}

}  // namespace
}  // namespace tensorhub
