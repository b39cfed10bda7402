// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Inside of the plan library: what one reader shard reads, put together tensor by tensor.

#ifndef TENSORHUB_COMMON_SHARD_PLANNER_H_
#define TENSORHUB_COMMON_SHARD_PLANNER_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "common/read_plan.h"
#include "common/read_stream.h"
#include "common/tensor_match.h"

namespace tensorhub {

class ShardPlanner {
 public:
  // What one source shard brings of a tensor.
  struct Part {
    uint32_t source_shard = 0;
    uint64_t bytes = 0;
    uint64_t items = 0;
  };

  // kCount: for the hub, who wants the sums and the errors only.
  enum class Keep { kItems, kCount };

  ShardPlanner(const Sharding& reader, uint32_t shard, Keep keep)
      : reader_(&reader.shards()[shard]), keep_(keep) {}

  // Notes that the reader shard needs this source shard.
  void Need(uint32_t source_shard) { streams_[source_shard].shard = source_shard; }
  bool Needs(uint32_t source_shard) const { return streams_.contains(source_shard); }
  const Fingerprint& fingerprint() const { return reader_->fingerprint; }

  // Takes what it wants of the tensor's box. `only_needed`: from those named to Need alone. Boxes
  // of one tensor come in order. Returns what is wrong, or nothing.
  std::string Take(TensorMatch& match, const TensorMatch::Wanted& wanted,
                   const Sharding::Slice& slice, bool only_needed);

  // The parts of the last Take.
  const std::vector<Part>& parts() const { return parts_; }
  // Counts, without the items, the parts of a tensor that is cut as another one was that they are
  // of. Returns what is wrong, or nothing.
  std::string Count(const Part& part);

  // FAILED_PRECONDITION with the number.
  absl::Status CheckStreams() const;
  std::vector<ReadNeed> Needs() const;
  ReadPlan TakePlan() &&;

 private:
  struct Stream {
    uint32_t shard = 0;
    uint64_t bytes = 0;
    // Where the tensor at hand has come to; those before it lie below in both spaces.
    size_t tensor = ~size_t{0};
    uint64_t source_end = 0;
    uint64_t reader_end = 0;
    std::vector<const TensorMatch::Owned*> cells;  // of the box at hand
    ReadStream copies;
  };
  // A box that is wanted, and where it lies at the reader.
  struct Target {
    const TensorMatch& match;
    PlacedBox box;
    uint32_t bits = 0;
    PlacedBox From(const TensorMatch::Owned& owned) const;
  };

  std::string TakeBox(TensorMatch& match, const Target& target, Stream& stream);
  std::string Measure(const Target& target, const Stream& stream, ItemsExtent& all, bool& ascends);
  void AppendCells(const Target& target, const Stream& stream);
  std::string SortRuns(TensorMatch& match, ItemsExtent& all);
  std::vector<uint32_t> SourceShards() const;

  const Sharding::Shard* reader_;
  Keep keep_;
  std::unordered_map<uint32_t, Stream> streams_;  // by source shard
  uint64_t item_count_ = 0;
  std::vector<Part> parts_;
  std::vector<Stream*> box_streams_;  // those that bring something of the box at hand
  std::vector<ReadItem> items_;       // of one of them, where they are needed one by one
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_SHARD_PLANNER_H_
