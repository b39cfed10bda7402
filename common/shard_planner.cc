// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/shard_planner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"

namespace tensorhub {
namespace {

constexpr uint32_t kShareWhole = 1024;

uint32_t ShareOf(uint64_t bytes, uint64_t total) {
  const double share = static_cast<double>(bytes) / static_cast<double>(total) * kShareWhole;
  return std::max(1u, static_cast<uint32_t>(std::lround(share)));
}

std::string TooLong() {
  return absl::StrCat("makes the plan longer than ", kReadItemsMax, " copies");
}

// Whether each begins behind the one before, in both spaces.
bool Ascend(const std::vector<ReadItem>& items) {
  for (size_t i = 1; i < items.size(); ++i) {
    if (items[i].source_offset < items[i - 1].source_end()) return false;
    if (items[i].reader_offset < items[i - 1].reader_end()) return false;
  }
  return true;
}

}  // namespace

std::string ShardPlanner::Take(TensorMatch& match, const TensorMatch::Wanted& wanted,
                               const Sharding::Slice& slice, bool only_needed) {
  SourceFilter may_use;
  if (only_needed) may_use = [this](uint32_t shard) { return Needs(shard); };
  box_streams_.clear();
  parts_.clear();
  std::string why;
  for (const TensorMatch::Owned& owned : match.Choose(wanted, fingerprint(), may_use)) {
    if (why.empty()) why = TakeCell(match, owned, wanted, slice);
  }
  for (Stream* stream : box_streams_) {
    if (why.empty()) why = TakeBox(match, *stream, wanted.box);
    stream->box_items.clear();
  }
  return why;
}

std::string ShardPlanner::TakeCell(const TensorMatch& match, const TensorMatch::Owned& owned,
                                   const TensorMatch::Wanted& wanted,
                                   const Sharding::Slice& slice) {
  const Sharding& source = match.source();
  const PlacedBox from = {source.box(match.source_tensor(), *owned.source),
                          owned.source->byte_offset};
  const uint32_t bits = BitsOf(source.tensors()[match.source_tensor()].dtype);
  Stream& stream = streams_[owned.source->shard];
  stream.shard = owned.source->shard;
  if (stream.box_items.empty()) box_streams_.push_back(&stream);
  const size_t before = stream.box_items.size();
  switch (AppendItems(owned.cell, from, {wanted.box, slice.byte_offset}, bits,
                      kReadItemsMax - item_count_, stream.box_items)) {
    case ItemsResult::kPartOfByte:
      return absl::StrCat("has elements of ", bits, " bits, and ", ShowBox(owned.cell), " of ",
                          ShowBox(wanted.box), " would begin or end within a byte");
    case ItemsResult::kTooMany:
      return TooLong();
    case ItemsResult::kAppended:
      item_count_ += stream.box_items.size() - before;
      return "";
  }
  return "";
}

// Takes what one stream brings of a box. Its cells may interleave where other streams' lie between
// them; its runs do not, unless its source has the tensor in several boxes.
std::string ShardPlanner::TakeBox(const TensorMatch& match, Stream& stream, Box box) {
  std::vector<ReadItem>& items = stream.box_items;
  if (!Ascend(items) && !SortRuns(items)) return TooLong();
  const bool goes_on = stream.tensor == match.reader_tensor();
  if (!Ascend(items) || (goes_on && (items.front().source_offset < stream.source_end ||
                                     items.front().reader_offset < stream.reader_end))) {
    const std::vector<Rank>& ranks = match.source().shards()[stream.shard].ranks;
    return absl::StrCat("has several slices at rank ", ranks.front(), " of the sources, of which ",
                        ShowBox(box), " needs the parts in another order");
  }
  stream.tensor = match.reader_tensor();
  stream.source_end = items.back().source_end();
  stream.reader_end = items.back().reader_end();
  uint64_t bytes = 0;
  for (const ReadItem& item : items) {
    bytes += item.bytes();
    if (keep_ == Keep::kItems) stream.copies.Append(item);
  }
  stream.bytes += bytes;
  parts_.push_back({stream.shard, bytes, items.size()});
  return "";
}

std::string ShardPlanner::Count(const Part& part) {
  if (part.items > kReadItemsMax - item_count_) return TooLong();
  item_count_ += part.items;
  Stream& stream = streams_[part.source_shard];
  stream.shard = part.source_shard;
  stream.bytes += part.bytes;
  return "";
}

// Makes each run an item of its own, in the reader's order. False: too many.
bool ShardPlanner::SortRuns(std::vector<ReadItem>& items) {
  std::vector<ReadItem> runs;
  for (ReadItem item : items) {
    if (item.count - 1 > kReadItemsMax - item_count_) return false;
    item_count_ += item.count - 1;
    for (uint64_t left = std::exchange(item.count, 1); left > 0; --left) {
      runs.push_back(item);
      item.source_offset += item.source_stride;
      item.reader_offset += item.reader_stride;
    }
  }
  std::sort(runs.begin(), runs.end(),
            [](const ReadItem& a, const ReadItem& b) { return a.reader_offset < b.reader_offset; });
  items = std::move(runs);
  return true;
}

absl::Status ShardPlanner::CheckStreams() const {
  if (streams_.size() <= kReadStreamsMax) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("rank ", reader_->ranks.front(), " would read from ", streams_.size(),
                   " source ranks; at most ", kReadStreamsMax,
                   ": cut the sources into fewer, or the readers into more"));
}

std::vector<uint32_t> ShardPlanner::SourceShards() const {
  std::vector<uint32_t> shards;
  for (const auto& [shard, stream] : streams_) {
    if (stream.bytes > 0) shards.push_back(shard);
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

std::vector<ReadNeed> ShardPlanner::Needs() const {
  std::vector<ReadNeed> needs;
  for (uint32_t shard : SourceShards()) {
    const uint64_t bytes = streams_.at(shard).bytes;
    needs.push_back({shard, bytes, ShareOf(bytes, reader_->total_bytes)});
  }
  return needs;
}

ReadPlan ShardPlanner::TakePlan() && {
  ReadPlan plan;
  plan.reader_bytes = reader_->total_bytes;
  for (uint32_t shard : SourceShards()) {
    plan.streams.push_back({shard, std::move(streams_.at(shard).copies)});
    plan.items += plan.streams.back().copies.items().size();
  }
  return plan;
}

}  // namespace tensorhub
