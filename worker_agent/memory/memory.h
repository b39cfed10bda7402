// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The registered tensors as the shard's canonical byte space: which memory a range of it is. Knows
// addresses, not their meaning, and touches none: that is for the Medium that the bytes lie in.
//
// Thread contract: const after Make and UseMedium.

#ifndef TENSORHUB_WORKER_AGENT_MEMORY_MEMORY_H_
#define TENSORHUB_WORKER_AGENT_MEMORY_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/layout.h"
#include "worker_agent/core/events.h"

namespace tensorhub::agent {

class Medium;

// One tensor as its owner describes it; nothing is checked yet.
struct TensorBuffer {
  std::string name;
  std::string dtype;  // a name of ParseDType
  std::vector<uint64_t> shape;
  std::optional<SliceSpec> slice;
  void* data = nullptr;
  uint64_t bytes = 0;
  bool cuda = false;
  int cuda_device = 0;  // ordinal, as this process counts them
};

class Memory {
 public:
  // A contiguous part of memory that holds a contiguous part of the byte space.
  struct Piece {
    std::byte* data = nullptr;
    uint64_t bytes = 0;
  };
  struct Segment {
    uint64_t begin = 0;  // in the canonical byte space
    std::byte* data = nullptr;
    uint64_t bytes = 0;
  };

  Memory() = default;
  // INVALID_ARGUMENT, naming the tensor: an unknown dtype, a size that does not fit the shape, a
  // null address, memory that overlaps another tensor's, tensors in more than one place (host
  // memory, or one device), and what Layout::Make refuses.
  static absl::StatusOr<Memory> Make(const std::vector<TensorBuffer>& tensors);

  const Layout& layout() const { return layout_; }
  uint64_t total_bytes() const { return layout_.total_bytes(); }

  // The device that the tensors say they are on; nothing for host memory.
  std::optional<int> cuda_device() const { return cuda_device_; }
  // Host memory's unless another is used, which tensors on a device need.
  Medium& medium() const { return *medium_; }
  const std::shared_ptr<Medium>& shared_medium() const { return medium_; }
  void UseMedium(std::shared_ptr<Medium> medium) { medium_ = std::move(medium); }

  // Replaces `pieces` by the memory of that range, which must lie within the byte space. Pieces
  // that touch in memory are one. Costs a binary search and the pieces themselves.
  void Pieces(ByteRange range, std::vector<Piece>& pieces) const;
  // The same for several ranges, in their order.
  void Pieces(std::span<const ByteRange> ranges, std::vector<Piece>& pieces) const;

  // The whole byte space, in canonical order: tensors that follow one another in memory as well
  // are one segment.
  const std::vector<Segment>& segments() const { return segments_; }
  // Runs of memory that touch or share a page, as a registration with a device counts them.
  size_t region_count() const { return region_count_; }

 private:
  void Append(std::byte* data, uint64_t bytes);
  void AppendPieces(ByteRange range, std::vector<Piece>& pieces) const;
  // Index of the segment that holds this byte.
  size_t Find(uint64_t offset) const;

  Layout layout_;
  std::vector<Segment> segments_;
  size_t region_count_ = 0;
  std::optional<int> cuda_device_;
  std::shared_ptr<Medium> medium_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_MEMORY_MEMORY_H_
