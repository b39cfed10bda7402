// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Plans between random shardings, carried out byte by byte and held against a map of every element.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/read_plan.h"
#include "tests/unit/common/random_shardings.h"
#include "tests/unit/seeds_to_try.h"

namespace tensorhub {
namespace {

constexpr uint64_t kCases = SeedsToTry(4000);

struct Case {
  std::vector<TestTensor> tensors;
  TestGroup source_group, reader_group;
  Sharding source, reader;
  std::vector<std::vector<uint64_t>> source_memory;  // by source shard
};

std::vector<std::vector<uint64_t>> MemoriesOf(const TestGroup& group, const Sharding& sharding,
                                              const std::vector<TestTensor>& tensors) {
  std::vector<std::vector<uint64_t>> memories;
  for (const Sharding::Shard& shard : sharding.shards()) {
    memories.push_back(MemoryOf(group.by_rank[shard.ranks.front()], tensors));
  }
  return memories;
}

Case MakeCase(uint64_t seed) {
  Random random(seed);
  Case made;
  made.tensors = RandomTensors(random, 4);
  made.source_group = RandomGroup(random, made.tensors, random.Below(4) == 0);
  made.reader_group = RandomGroup(random, made.tensors, random.Below(2) == 0);
  absl::StatusOr<Sharding> source = ShardingOf(made.source_group, made.tensors);
  absl::StatusOr<Sharding> reader = ShardingOf(made.reader_group, made.tensors);
  EXPECT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE(reader.ok()) << reader.status();
  made.source = *std::move(source);
  made.reader = *std::move(reader);
  made.source_memory = MemoriesOf(made.source_group, made.source, made.tensors);
  return made;
}

std::set<uint64_t> HeldBy(const std::vector<std::vector<uint64_t>>& memories) {
  std::set<uint64_t> held;
  for (const std::vector<uint64_t>& memory : memories) held.insert(memory.begin(), memory.end());
  held.erase(0);
  return held;
}

// Each of one is in the other.
template <typename Set>
bool IsWithin(const Set& part, const Set& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

bool HasPartsOfBytes(const Case& made) {
  return std::any_of(made.tensors.begin(), made.tensors.end(),
                     [](const TestTensor& tensor) { return BitsOf(tensor.dtype) % 8 != 0; });
}

// Carries a stream out byte by byte, along its positions.
void Copy(const Case& made, const ReadPlan::Stream& stream, std::vector<uint64_t>& memory,
          std::vector<bool>& written) {
  const ReadStream& copies = stream.copies;
  const std::vector<uint64_t>& source = made.source_memory[stream.shard];
  uint64_t last_source = 0, last_reader = 0;
  for (uint64_t position = 0; position < copies.bytes(); ++position) {
    const uint64_t from = copies.SourceOffset(position);
    const uint64_t to = copies.ReaderOffset(position);
    ASSERT_LT(from * 2, source.size());
    ASSERT_LT(to, written.size());
    ASSERT_FALSE(written[to]) << "byte " << to << " comes twice";
    written[to] = true;
    memory[to * 2] = source[from * 2];
    memory[to * 2 + 1] = source[from * 2 + 1];
    // The lemma of the order.
    ASSERT_TRUE(position == 0 || (from > last_source && to > last_reader));
    ASSERT_EQ(copies.PositionBelowSource(from), position);
    ASSERT_EQ(copies.PositionBelowSource(from + 1), position + 1);
    ASSERT_EQ(copies.PositionBelowReader(to), position);
    ASSERT_EQ(copies.PositionBelowReader(to + 1), position + 1);
    ASSERT_EQ(copies.LowWater(position, written.size()), to);
    // Between two of the stream's bytes the count stands still.
    ASSERT_EQ(
        copies.PositionBelowSource((last_source + from + 1) / 2),
        (last_source + from + 1) / 2 > last_source || position == 0 ? position : position - 1);
    last_source = from;
    last_reader = to;
  }
  ASSERT_EQ(copies.LowWater(copies.bytes(), written.size()), written.size());
}

// What Cut gives, run by run, is what the positions say.
void CheckCut(const ReadStream& copies, Random& random) {
  const uint64_t begin = random.Below(copies.bytes() + 1);
  const uint64_t end = begin + random.Below(copies.bytes() - begin + 1);
  const std::vector<ReadItem> parts = copies.Cut(begin, end);
  ASSERT_LE(parts.size(), 3 * copies.items().size());
  uint64_t position = begin;
  for (const ReadItem& part : parts) {
    ASSERT_EQ(part.position, position);
    for (uint64_t i = 0; i < part.bytes(); ++i, ++position) {
      const uint64_t run = i / part.run_bytes, in_run = i % part.run_bytes;
      ASSERT_EQ(part.source_offset + run * part.source_stride + in_run,
                copies.SourceOffset(position));
      ASSERT_EQ(part.reader_offset + run * part.reader_stride + in_run,
                copies.ReaderOffset(position));
    }
  }
  ASSERT_EQ(position, end);
}

// The bytes of each source shard, as the hub's answer has them.
std::vector<ReadNeed> BytesOf(const ReadPlan& plan, const std::vector<ReadNeed>& like) {
  std::vector<ReadNeed> needs;
  for (const ReadPlan::Stream& stream : plan.streams) {
    const uint32_t share = needs.size() < like.size() ? like[needs.size()].share : 0;
    needs.push_back({stream.shard, stream.copies.bytes(), share});
  }
  return needs;
}

// A reader that has the layouts only of those whom the hub named.
void CheckPlan(const Case& made, uint32_t shard, const std::vector<ReadNeed>& needs,
               Random& random) {
  std::set<Rank> ranks;
  for (const ReadNeed& need : needs) {
    ranks.insert(made.source.shards()[need.shard].ranks.front());
    EXPECT_GE(need.share, 1u);
  }
  const absl::StatusOr<Sharding> some = ShardingOf(made.source_group, made.tensors, &ranks);
  ASSERT_TRUE(some.ok()) << some.status();
  const Rank rank = made.reader.shards()[shard].ranks.front();
  const std::set<Rank> own = {rank};
  const absl::StatusOr<Sharding> alone = ShardingOf(made.reader_group, made.tensors, &own);
  ASSERT_TRUE(alone.ok()) << alone.status();
  absl::StatusOr<ReadPlan> plan =
      random.Below(2) == 0 ? PlanRead(*some, *alone, 0) : PlanRead(*some, made.reader, shard);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (ReadPlan::Stream& stream : plan->streams) stream.shard = needs[stream.shard].shard;
  EXPECT_EQ(BytesOf(*plan, needs), needs);

  const std::vector<uint64_t> wanted = MemoryOf(made.reader_group.by_rank[rank], made.tensors);
  std::vector<uint64_t> memory(wanted.size());
  std::vector<bool> written(wanted.size() / 2);
  for (const ReadPlan::Stream& stream : plan->streams) {
    ASSERT_NO_FATAL_FAILURE(Copy(made, stream, memory, written));
    ASSERT_NO_FATAL_FAILURE(CheckCut(stream.copies, random));
  }
  EXPECT_EQ(memory, wanted);
}

struct Counts {
  uint64_t planned = 0, refused = 0, full = 0, chosen = 0;
};

void CheckCase(const Case& made, Random& random, Counts& counts) {
  const std::set<uint64_t> held = HeldBy(made.source_memory);
  const std::set<uint64_t> wanted =
      HeldBy(MemoriesOf(made.reader_group, made.reader, made.tensors));
  const bool possible = IsWithin(wanted, held);
  const absl::StatusOr<Coverage> coverage = CheckCover(made.source, made.reader);
  if (!coverage.ok()) {
    ++counts.refused;
    EXPECT_EQ(coverage.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(!possible || HasPartsOfBytes(made) || made.source_group.may_be_out_of_order ||
                made.reader_group.may_be_out_of_order)
        << coverage.status();
    return;
  }
  EXPECT_TRUE(possible);
  ++counts.planned;
  counts.full += coverage->full ? 1 : 0;
  if (!HasPartsOfBytes(made)) {
    EXPECT_EQ(coverage->full, IsWithin(held, wanted));
  }
  ASSERT_EQ(coverage->needs.size(), made.reader.shards().size());
  for (uint32_t shard = 0; shard < coverage->needs.size(); ++shard) {
    const std::vector<ReadNeed>& needs = coverage->needs[shard];
    counts.chosen += needs.size() < made.source.shards().size() ? 1 : 0;
    ASSERT_NO_FATAL_FAILURE(CheckPlan(made, shard, needs, random));
  }
}

TEST(ReadPlanProperty, EveryByteComesOnceFromWhereItIs) {
  Counts counts;
  for (uint64_t seed = 1; seed <= kCases; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed ^ 0x5eed);
    CheckCase(MakeCase(seed), random, counts);
    if (HasFailure()) return;
  }
  // The cases are not all of one kind.
  EXPECT_GT(counts.planned, kCases / 4);
  EXPECT_GT(counts.refused, kCases / 10);
  EXPECT_GT(counts.full, kCases / 10);
  EXPECT_GT(counts.chosen, kCases / 10);
}

}  // namespace
}  // namespace tensorhub
