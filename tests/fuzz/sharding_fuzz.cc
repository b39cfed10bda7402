// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Shardings of what strangers say that they hold, and plans between them: a lie is refused, and
// what the server's check takes, the reader plans, with the same bytes from the same shards.

#include <algorithm>
#include <deque>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/read_plan.h"
#include "common/sharding.h"
#include "tests/fuzz/fuzz.h"

namespace tensorhub::fuzz {
namespace {

constexpr size_t kNames = 3;
constexpr uint32_t kRanksMax = 4;
constexpr size_t kSlicesMax = 6;

using Shape = std::vector<uint64_t>;

// One slice as a rank has it, mostly inside of the tensor that all speak of.
struct Said {
  size_t name = 0;
  DType dtype = DType::kU8;
  Shape global, offset, shape;

  bool operator<(const Said& other) const {
    return std::tie(name, offset, shape) < std::tie(other.name, other.offset, other.shape);
  }
};

// At most 255 as well.
uint64_t UpTo(uint64_t most, Choices& choices) {
  return choices.Byte() % (std::min<uint64_t>(most, 255) + 1);
}

Said TakeSlice(Choices& choices, const std::vector<Shape>& globals) {
  Said said{choices.Below(kNames), DType::kU8, {}, {}, {}};
  said.global = globals[said.name];
  if (choices.OneIn(32)) said.dtype = static_cast<DType>(choices.Byte());
  if (choices.OneIn(32)) said.global.push_back(choices.Number());
  const bool lies = choices.OneIn(32);
  for (uint64_t extent : said.global) {
    const uint64_t begin = lies ? choices.Number() : UpTo(extent, choices);
    said.offset.push_back(begin);
    said.shape.push_back(lies ? choices.Number() : UpTo(extent - begin, choices));
  }
  return said;
}

// What one rank says, in order and dense, mostly. Views of `kept`.
ShardSlices TakeShard(Choices& choices, const std::vector<Shape>& globals,
                      std::deque<std::vector<Said>>& kept) {
  static const std::string names[kNames] = {"a", "b", "c"};
  std::vector<Said>& all = kept.emplace_back();
  for (size_t n = choices.Below(kSlicesMax + 1); n > 0; --n) {
    all.push_back(TakeSlice(choices, globals));
  }
  if (!choices.OneIn(16)) std::sort(all.begin(), all.end());
  ShardSlices shard;
  std::string text;
  for (const Said& said : all) {
    const uint64_t begin = choices.OneIn(32) ? choices.Number() : shard.total_bytes;
    shard.slices.push_back(
        {names[said.name], said.dtype, said.global, said.offset, said.shape, begin});
    uint64_t bytes = 1;
    for (uint64_t extent : said.shape) bytes *= extent;
    shard.total_bytes = begin + bytes;
    absl::StrAppend(&text, said.name, ":", static_cast<int>(said.dtype), "@", begin);
    for (const Shape* list : {&said.global, &said.offset, &said.shape}) {
      absl::StrAppend(&text, "/", absl::StrJoin(*list, ","));
    }
  }
  if (choices.OneIn(32)) shard.total_bytes = choices.Number();
  shard.fingerprint = FingerprintOf(absl::StrCat(text, "=", shard.total_bytes));
  return shard;
}

absl::StatusOr<Sharding> TakeGroup(Choices& choices, const std::vector<Shape>& globals) {
  const auto ranks = static_cast<uint32_t>(1 + choices.Below(kRanksMax));
  std::deque<std::vector<Said>> kept;
  ShardingBuilder builder(ranks);
  for (Rank rank = 0; rank < ranks; ++rank) builder.Add(rank, TakeShard(choices, globals, kept));
  absl::StatusOr<Sharding> sharding = std::move(builder).Build();
  if (!sharding.ok()) TH_CHECK(absl::IsInvalidArgument(sharding.status()));
  return sharding;
}

void CheckReader(const Sharding& source, const Sharding& reader, uint32_t shard,
                 const std::vector<ReadNeed>& needs) {
  const absl::StatusOr<ReadPlan> plan = PlanRead(source, reader, shard);
  // From all sources rather than from those that are needed it may take others, and too many.
  if (!plan.ok()) return;
  uint64_t planned = 0, needed = 0;
  for (const ReadPlan::Stream& stream : plan->streams) {
    planned += stream.copies.bytes();
    const ReadItem& last = stream.copies.items().back();
    TH_CHECK(last.source_end() <= source.shards()[stream.shard].total_bytes);
    TH_CHECK(last.reader_end() <= reader.shards()[shard].total_bytes);
  }
  for (const ReadNeed& need : needs) needed += need.bytes;
  TH_CHECK(planned == needed);
  TH_CHECK(planned <= plan->reader_bytes);
}

}  // namespace

std::vector<std::string> Seeds() { return RandomSeeds(200, 200); }

void Run(std::string_view input) {
  Choices choices(input);
  std::vector<Shape> globals(kNames);
  for (Shape& shape : globals) {
    for (size_t d = choices.Below(4); d > 0; --d) shape.push_back(choices.Below(9));
  }
  const absl::StatusOr<Sharding> source = TakeGroup(choices, globals);
  const absl::StatusOr<Sharding> reader = choices.OneIn(3) ? source : TakeGroup(choices, globals);
  if (!source.ok() || !reader.ok()) return;
  const absl::StatusOr<Coverage> coverage = CheckCover(*source, *reader);
  if (!coverage.ok()) {
    TH_CHECK(absl::IsFailedPrecondition(coverage.status()));
    return;
  }
  TH_CHECK(coverage->needs.size() == reader->shards().size());
  for (uint32_t shard = 0; shard < coverage->needs.size(); ++shard) {
    CheckReader(*source, *reader, shard, coverage->needs[shard]);
  }
}

}  // namespace tensorhub::fuzz
