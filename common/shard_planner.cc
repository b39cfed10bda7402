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

// Runs of one stream in one box that are put in order one by one: what a check may take of memory
// (59 MB, twice) whatever the layouts say.
constexpr size_t kSortedRunsMax = size_t{1} << 20;

std::string TooManySorted() {
  return absl::StrCat("has pieces at one source that interleave at the reader in more than ",
                      kSortedRunsMax, " runs");
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
  for (const TensorMatch::Owned& owned : match.Choose(wanted, fingerprint(), may_use)) {
    Stream& stream = streams_[owned.source->shard];
    stream.shard = owned.source->shard;
    if (stream.cells.empty()) box_streams_.push_back(&stream);
    stream.cells.push_back(&owned);
  }
  const DType dtype = match.source().tensors()[match.source_tensor()].dtype;
  const Target target = {match, {wanted.box, slice.byte_offset}, BitsOf(dtype)};
  std::string why;
  for (Stream* stream : box_streams_) {
    if (why.empty()) why = TakeBox(match, target, *stream);
    stream->cells.clear();
  }
  return why;
}

PlacedBox ShardPlanner::Target::From(const TensorMatch::Owned& owned) const {
  return {match.source().box(match.source_tensor(), *owned.source), owned.source->byte_offset};
}

// Takes what one stream brings of a box. Its cells may interleave where other streams' lie between
// them; its runs do not, unless its source has the tensor in several boxes.
std::string ShardPlanner::TakeBox(TensorMatch& match, const Target& target, Stream& stream) {
  ItemsExtent all;
  bool ascends = true;
  if (std::string why = Measure(target, stream, all, ascends); !why.empty()) return why;
  items_.clear();
  if (keep_ == Keep::kItems || !ascends) AppendCells(target, stream);
  if (!ascends) {
    if (std::string why = SortRuns(match, all); !why.empty()) return why;
    ascends = Ascend(items_);
  }
  const bool goes_on = stream.tensor == match.reader_tensor();
  if (!ascends ||
      (goes_on && (all.source_begin < stream.source_end || all.reader_begin < stream.reader_end))) {
    const std::vector<Rank>& ranks = match.source().shards()[stream.shard].ranks;
    return absl::StrCat("has several slices at rank ", ranks.front(), " of the sources, of which ",
                        ShowBox(target.box.box), " needs the parts in another order");
  }
  stream.tensor = match.reader_tensor();
  stream.source_end = all.source_end;
  stream.reader_end = all.reader_end;
  stream.bytes += all.bytes;
  if (keep_ == Keep::kItems) {
    for (const ReadItem& item : items_) stream.copies.Append(item);
  }
  parts_.push_back({stream.shard, all.bytes, all.items});
  return "";
}

// What the stream's cells come to, and whether each lies behind the one before in both spaces.
std::string ShardPlanner::Measure(const Target& target, const Stream& stream, ItemsExtent& all,
                                  bool& ascends) {
  for (const TensorMatch::Owned* owned : stream.cells) {
    ItemsExtent cell;
    switch (MeasureItems(owned->cell, target.From(*owned), target.box, target.bits,
                         kReadItemsMax - item_count_, cell)) {
      case ItemsResult::kPartOfByte:
        return absl::StrCat("has elements of ", target.bits, " bits, and ", ShowBox(owned->cell),
                            " of ", ShowBox(target.box.box), " would begin or end within a byte");
      case ItemsResult::kTooMany:
        return TooLong();
      case ItemsResult::kAppended:
        break;
    }
    item_count_ += cell.items;
    if (owned == stream.cells.front()) {
      all = cell;
      continue;
    }
    ascends &= cell.source_begin >= all.source_end && cell.reader_begin >= all.reader_end;
    all.items += cell.items;
    all.bytes += cell.bytes;
    all.source_end = cell.source_end;
    all.reader_end = cell.reader_end;
  }
  return "";
}

void ShardPlanner::AppendCells(const Target& target, const Stream& stream) {
  for (const TensorMatch::Owned* owned : stream.cells) {
    AppendItems(owned->cell, target.From(*owned), target.box, target.bits, kReadItemsMax, items_);
  }
}

std::string ShardPlanner::Count(const Part& part) {
  if (part.items > kReadItemsMax - item_count_) return TooLong();
  item_count_ += part.items;
  Stream& stream = streams_[part.source_shard];
  stream.shard = part.source_shard;
  stream.bytes += part.bytes;
  return "";
}

// Makes each run an item of its own, in the reader's order.
std::string ShardPlanner::SortRuns(TensorMatch& match, ItemsExtent& all) {
  std::vector<ReadItem> runs;
  for (ReadItem item : items_) {
    if (item.count - 1 > kReadItemsMax - item_count_) return TooLong();
    if (item.count > kSortedRunsMax - runs.size()) return TooManySorted();
    item_count_ += item.count - 1;
    for (uint64_t left = std::exchange(item.count, 1); left > 0; --left) {
      runs.push_back(item);
      item.source_offset += item.source_stride;
      item.reader_offset += item.reader_stride;
    }
  }
  if (std::string why = match.steps().Take(runs.size()); !why.empty()) return why;
  std::sort(runs.begin(), runs.end(),
            [](const ReadItem& a, const ReadItem& b) { return a.reader_offset < b.reader_offset; });
  items_ = std::move(runs);
  all.items = items_.size();
  all.source_begin = items_.front().source_offset;
  all.source_end = items_.back().source_end();
  all.reader_begin = items_.front().reader_offset;
  all.reader_end = items_.back().reader_end();
  return "";
}

absl::Status ShardPlanner::CheckStreams() const {
  // One that was needed for a choice and then brings nothing is no stream.
  const size_t streams = SourceShards().size();
  if (streams <= kReadStreamsMax) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "rank ", reader_->ranks.front(), " would read from ", streams, " source ranks; at most ",
      kReadStreamsMax, ": cut the sources into fewer, or the readers into more"));
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
