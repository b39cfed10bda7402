// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A sharding: how a group of workers cuts a model's tensors, kept flat. Names, dtypes and global
// shapes are there once for the whole group, boxes once for all tensors cut alike, so that a slice
// costs 16 bytes. A slice's identity is (name, box): a rank may hold several boxes of one tensor,
// and those of several ranks may overlap or be equal; together they are a cover, not a partition.
// Ranks with equal slices hold one and the same shard.

#ifndef TENSORHUB_COMMON_SHARDING_H_
#define TENSORHUB_COMMON_SHARDING_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/boxes.h"
#include "common/ids.h"
#include "common/interned_lists.h"
#include "common/layout.h"
#include "common/refusals.h"
#include "common/sharding_id.h"

namespace tensorhub {

// "F32 [2, 3]", for people.
std::string ShowArray(DType dtype, std::span<const uint64_t> shape);

// One box of a tensor, dense and row-major in its holder's byte space. A view.
struct HeldSlice {
  std::string_view name;
  DType dtype = DType::kU8;
  std::span<const uint64_t> global_shape;
  std::span<const uint64_t> offset;
  std::span<const uint64_t> shape;
  uint64_t byte_offset = 0;
};

// What one rank holds: slices in the order of (name, box), without overlap in its byte space, which
// they meet in that order.
struct ShardSlices {
  Fingerprint fingerprint;  // of all below; equal ones are one shard
  uint64_t total_bytes = 0;
  std::vector<HeldSlice> slices;
};
// The slice of a layout's entry, to which it refers. A tensor without a slice is whole.
HeldSlice SliceOf(const Layout::Entry& entry);

class Sharding {
 public:
  struct Tensor {
    std::string name;
    DType dtype = DType::kU8;
    std::vector<uint64_t> global_shape;
  };
  struct Slice {
    uint32_t box = 0;
    uint32_t shard = 0;
    uint64_t byte_offset = 0;  // in the shard's byte space
  };
  struct Shard {
    Fingerprint fingerprint;
    uint64_t total_bytes = 0;
    std::vector<Rank> ranks;  // who holds it, ascending
  };

  // Ranks without a layout (null) are left out: a reader needs only some. Errors as from Build.
  static absl::StatusOr<Sharding> Make(std::span<const Layout* const> by_rank);

  // The shards, by the first rank that holds them.
  const std::vector<Shard>& shards() const { return shards_; }
  std::optional<uint32_t> ShardOf(Rank rank) const;

  // In bytewise order of the names.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  // In order of the boxes, equal ones by shard. Empty boxes are left out.
  std::span<const Slice> slices(size_t tensor) const {
    const size_t begin = tensor == 0 ? 0 : slice_ends_[tensor - 1];
    return std::span(slices_).subspan(begin, slice_ends_[tensor] - begin);
  }
  Box box(size_t tensor, const Slice& slice) const {
    return Box(intervals_).subspan(slice.box, tensors_[tensor].global_shape.size());
  }
  // What it takes in memory, about.
  uint64_t BytesKept() const;

 private:
  friend class ShardingBuilder;
  std::vector<Shard> shards_;
  std::vector<Tensor> tensors_;
  std::vector<Interval> intervals_;
  std::vector<Slice> slices_;
  std::vector<size_t> slice_ends_;
};

// Makes a sharding from one rank's slices after the other's, none of which it refers to afterwards.
class ShardingBuilder {
 public:
  explicit ShardingBuilder(uint32_t world_size) : world_size_(world_size) {}
  ShardingBuilder(const ShardingBuilder&) = delete;
  ShardingBuilder& operator=(const ShardingBuilder&) = delete;

  // Once per rank, in ascending order.
  void Add(Rank rank, const ShardSlices& shard);
  void Add(Rank rank, const Layout& layout);

  // INVALID_ARGUMENT, naming up to ten tensors: ranks that differ in a tensor's dtype or global
  // shape, slices outside of it or of its rank's bytes, or not in order. FAILED_PRECONDITION,
  // likewise: several ranks and a tensor without a slice, of which nobody knows where it belongs.
  absl::StatusOr<Sharding> Build() &&;

 private:
  struct Pending {
    uint32_t tensor = 0;
    uint32_t box = 0;
    uint64_t byte_offset = 0;
  };

  bool Begin(Rank rank, const Fingerprint& fingerprint, uint64_t total_bytes, size_t slices);
  void AddSlice(Rank rank, const HeldSlice& slice, uint64_t total_bytes);
  uint32_t TensorOf(const HeldSlice& slice);
  std::string ProblemOf(const HeldSlice& slice, uint32_t tensor) const;
  std::string PlaceProblemOf(uint32_t tensor, uint64_t begin, uint64_t end, uint64_t total);
  bool Follows(uint32_t a, uint32_t b);
  std::vector<uint32_t> SortTensors();
  void SortSlices(const std::vector<uint32_t>& places);

  uint32_t world_size_;
  Sharding made_;
  std::deque<Sharding::Tensor> tensors_;  // in order of appearance; does not move
  absl::flat_hash_map<std::string_view, uint32_t> by_name_;
  std::vector<uint32_t> follower_;  // by tensor: one whose name is known to be later
  std::map<Fingerprint, uint32_t> by_fingerprint_;
  std::vector<std::vector<Pending>> pending_;  // by shard
  InternedLists<Interval> boxes_;
  std::vector<Interval> box_;  // of the slice at hand

  // Where the rank at hand has come to.
  std::optional<uint32_t> last_tensor_;
  std::vector<Interval> last_box_;
  uint64_t bytes_end_ = 0;

  Refusals lies_;
  Refusals unplaced_;
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_SHARDING_H_
