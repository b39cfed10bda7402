// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a read is divided among streams that are fed at the same time: what each of them is to bring
// next. Every byte of the reader's is one stream's at a time, or nobody's yet. A stream that loses
// its source gives back what has not become sound, and does so only when nothing can write there
// any more.

#ifndef TENSORHUB_WORKER_AGENT_CORE_DIVISION_H_
#define TENSORHUB_WORKER_AGENT_CORE_DIVISION_H_

#include <cstdint>
#include <map>
#include <vector>

#include "common/layout.h"
#include "common/read_stream.h"
#include "worker_agent/core/events.h"

namespace tensorhub::agent {

class Division {
 public:
  // Nobody is given more items at once.
  static constexpr size_t kItemsAtOnce = 1024;

  virtual ~Division() = default;

  // What stream `part` is to bring next, without positions; all of it begins below `horizon` of the
  // reader's bytes, and in the source's at `behind` or later, where what it was given before ends.
  // Empty: nothing at the moment.
  virtual std::vector<ReadItem> Give(uint32_t part, uint64_t behind, uint64_t horizon) = 0;
  // The part may have something to bring some time.
  virtual bool HasMore(uint32_t part) const = 0;
  // The last that it was given, and has not brought.
  virtual void TakeBack(uint32_t part, const std::vector<ReadItem>& items) = 0;
  // Below it all bytes are given; the end of the reader's bytes if nothing is left.
  virtual uint64_t LowWater() const = 0;
};

// Sources that hold the reader's own shard: whoever asks first gets the first block that is
// nobody's. So a slow source brings less, and what one has lost comes next, whoever brings it.
class Spread final : public Division {
 public:
  // Chunks below `first` are there already. Blocks are whole chunks, and of about that size.
  Spread(const Chunking& chunking, uint32_t first, uint64_t block_bytes);

  bool HasMore(uint32_t /*part*/) const override { return !free_.empty(); }
  std::vector<ReadItem> Give(uint32_t part, uint64_t behind, uint64_t horizon) override;
  void TakeBack(uint32_t part, const std::vector<ReadItem>& items) override;
  uint64_t LowWater() const override;

 private:
  const uint64_t total_bytes_;
  const uint64_t block_bytes_;
  std::map<uint64_t, uint64_t> free_;  // begin -> end; they do not touch
};

// Sources that hold shards of another sharding: each stream has a part of its own, and brings it
// from front to back.
class Parts final : public Division {
 public:
  // `parts` bring all that the reader holds; those bytes of it below `begin` are there already.
  // About `block_bytes` are given at a time.
  Parts(ReadParts parts, uint64_t begin, uint64_t total_bytes, uint64_t block_bytes);

  bool HasMore(uint32_t part) const override {
    return part < given_.size() && given_[part] < (*parts_)[part].bytes();
  }
  std::vector<ReadItem> Give(uint32_t part, uint64_t behind, uint64_t horizon) override;
  void TakeBack(uint32_t part, const std::vector<ReadItem>& items) override;
  uint64_t LowWater() const override;

 private:
  const ReadParts parts_;
  const uint64_t total_bytes_;
  const uint64_t block_bytes_;
  std::vector<uint64_t> given_;  // positions, by part
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_DIVISION_H_
