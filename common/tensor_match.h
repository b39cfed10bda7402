// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Inside of the plan library: one tensor after the other, which slices of a source sharding hold
// what of those of a reader sharding. The hub's check and the reader's plan both walk through it.

#ifndef TENSORHUB_COMMON_TENSOR_MATCH_H_
#define TENSORHUB_COMMON_TENSOR_MATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/boxes.h"
#include "common/ids.h"
#include "common/sharding.h"

namespace tensorhub {

// What looking at layouts may cost, of whatever strangers say is in them (R9): a step is a slice
// that is looked at, or a part of one. More are some seconds. A model of 40,000 tensors, read by 64
// ranks from 512, takes a quarter of them.
class PlanSteps {
 public:
  static constexpr uint64_t kMax = uint64_t{1} << 28;
  // Empty, or what is wrong with the tensor that takes them: there are not as many left.
  std::string Take(uint64_t steps);
  bool are_used_up() const { return left_ == 0; }

 private:
  uint64_t left_ = kMax;
};

// Whether a reader may use this shard of the source sharding. Empty: any.
using SourceFilter = std::function<bool(uint32_t shard)>;

// How much a reader shard prefers one source shard to others that hold the same.
uint64_t PreferenceOf(uint64_t name_hash, const Fingerprint& reader, const Fingerprint& source);

class TensorMatch {
 public:
  // A box that shards of the reader sharding want, and how the sources' slices cut it.
  struct Wanted {
    Box box;
    std::span<const Sharding::Slice> readers;
    std::span<const Sharding::Slice> sources;  // the cells' holders are indexes of these
    CellCutter cells;
  };
  // A part of a wanted box that one source slice brings.
  struct Owned {
    const Sharding::Slice* source = nullptr;
    Box cell;
  };

  // All must outlive it. With `only_reader`, what other reader shards want is left out.
  TensorMatch(const Sharding& source, const Sharding& reader, PlanSteps& steps,
              std::optional<uint32_t> only_reader = std::nullopt)
      : source_(source), reader_(reader), steps_(steps), only_reader_(only_reader) {}

  // Goes to a tensor of the reader sharding. Quick if these come in ascending order. Returns what
  // is wrong, or nothing: the sources lack it, or have another dtype or global shape.
  std::string Seek(size_t reader_tensor);
  // Cuts the boxes that are wanted of it. Returns what is wrong, or nothing: nobody holds a part,
  // or it takes too many steps.
  std::string Cut();

  // The boxes wanted of the tensor at hand, each once, in order.
  std::span<const Wanted> wanted() const { return std::span(wanted_).first(wanted_count_); }
  // Whether a slice is of a reader shard at all that is looked at.
  bool Concerns(const Sharding::Slice& slice) const {
    return !only_reader_ || slice.shard == *only_reader_;
  }
  // Whether some cell lies in several shards, so that there is a choice.
  bool HasChoice() const;
  size_t source_tensor() const { return source_tensor_; }
  size_t reader_tensor() const { return reader_tensor_; }
  const Sharding& source() const { return source_; }
  const Sharding& reader() const { return reader_; }
  PlanSteps& steps() { return steps_; }

  // Sources of a box's parts for the reader shard with this fingerprint. What several shards
  // hold comes from the one with the greatest hash of (tensor, reader, source): leaving out shards
  // that bring nothing changes nothing, so that a reader who knows only the layouts of the shards
  // it needs chooses as the hub did, who knows all. Ordered by source slice, then as the cells. The
  // result lives until the next call.
  std::span<const Owned> Choose(const Wanted& wanted, const Fingerprint& reader,
                                const SourceFilter& may_use);

 private:
  void ListSources();
  std::string CutWanted(std::span<const Sharding::Slice> readers, size_t& cells_left);
  std::span<const Sharding::Slice> SourcesNear(Box box) const;
  const Sharding::Slice& Owner(const Wanted& wanted, size_t cell, const Fingerprint& reader,
                               const SourceFilter& may_use);
  uint64_t Preference(uint32_t shard, const Fingerprint& reader);
  void MergeCells();

  const Sharding& source_;
  const Sharding& reader_;
  PlanSteps& steps_;
  std::optional<uint32_t> only_reader_;
  size_t reader_tensor_ = 0;
  size_t source_tensor_ = 0;
  std::vector<Box> source_boxes_;  // of the tensor's slices
  std::vector<uint64_t> reach_;    // the greatest end so far along the first dimension
  std::vector<Wanted> wanted_;     // keeps its memory
  size_t wanted_count_ = 0;
  uint64_t name_hash_ = 0;
  bool is_name_hashed_ = false;
  std::vector<Owned> owned_;
  std::vector<Interval> merged_;
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_TENSOR_MATCH_H_
