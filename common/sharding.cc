// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/sharding.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/bytes.h"
#include "common/check.h"
#include "common/limits.h"

namespace tensorhub {
namespace {

constexpr std::array<uint64_t, kTensorDimensionsMax> kOrigin = {};
constexpr uint32_t kNone = ~uint32_t{0};

// Bits of a box inside a countable array, so nothing overflows.
uint64_t BitsOfBox(Box box, DType dtype) {
  uint64_t bits = BitsOf(dtype);
  for (Interval along : box) bits *= along.extent();
  return bits;
}

bool IsInside(const HeldSlice& slice) {
  for (size_t i = 0; i < slice.global_shape.size(); ++i) {
    const uint64_t global = slice.global_shape[i];
    if (slice.offset[i] > global || slice.shape[i] > global - slice.offset[i]) return false;
  }
  return true;
}

}  // namespace

std::string ShowArray(DType dtype, std::span<const uint64_t> shape) {
  return absl::StrCat(std::string(ToString(dtype)), " [", absl::StrJoin(shape, ", "), "]");
}

ShardingId IdOfSharding(std::span<const Fingerprint> by_rank) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.Put(static_cast<uint64_t>(by_rank.size()));
  for (const Fingerprint& fingerprint : by_rank) writer.PutBytes(ToBytes(fingerprint));
  return FingerprintOf(bytes);
}

HeldSlice SliceOf(const Layout::Entry& entry) {
  const std::span<const uint64_t> origin = std::span(kOrigin).first(entry.shape.size());
  return {entry.name,         entry.dtype,
          entry.global_shape, entry.is_slice ? entry.slice_offset : origin,
          entry.shape,        entry.offset};
}

// --- the sharding -------------------------------------------------------------------------------

absl::StatusOr<Sharding> Sharding::Make(std::span<const Layout* const> by_rank) {
  ShardingBuilder builder(static_cast<uint32_t>(by_rank.size()));
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (by_rank[rank] != nullptr) builder.Add(static_cast<Rank>(rank), *by_rank[rank]);
  }
  return std::move(builder).Build();
}

std::optional<uint32_t> Sharding::ShardOf(Rank rank) const {
  for (uint32_t i = 0; i < shards_.size(); ++i) {
    const std::vector<Rank>& ranks = shards_[i].ranks;
    if (std::binary_search(ranks.begin(), ranks.end(), rank)) return i;
  }
  return std::nullopt;
}

uint64_t Sharding::BytesKept() const {
  uint64_t bytes = slices_.capacity() * sizeof(Slice) + slice_ends_.capacity() * sizeof(size_t) +
                   intervals_.capacity() * sizeof(Interval) + tensors_.capacity() * sizeof(Tensor);
  for (const Tensor& tensor : tensors_) {
    bytes += tensor.name.capacity() + tensor.global_shape.capacity() * sizeof(uint64_t);
  }
  return bytes;
}

// --- taking a rank's slices in ------------------------------------------------------------------

void ShardingBuilder::Add(Rank rank, const Layout& layout) {
  if (world_size_ > 1) {
    for (const Layout::Entry& entry : layout.entries()) {
      if (!entry.is_slice) unplaced_.Add(entry.name, absl::StrCat("of rank ", rank));
    }
  }
  if (!Begin(rank, layout.fingerprint(), layout.total_bytes(), layout.entries().size())) return;
  for (const Layout::Entry& entry : layout.entries()) {
    AddSlice(rank, SliceOf(entry), layout.total_bytes());
  }
}

void ShardingBuilder::Add(Rank rank, const ShardSlices& shard) {
  if (!Begin(rank, shard.fingerprint, shard.total_bytes, shard.slices.size())) return;
  for (const HeldSlice& slice : shard.slices) AddSlice(rank, slice, shard.total_bytes);
}

// False: the shard is known, and the rank joins those that hold it.
bool ShardingBuilder::Begin(Rank rank, const Fingerprint& fingerprint, uint64_t total_bytes,
                            size_t slices) {
  TH_CHECK(rank < world_size_);
  const auto [known, is_new] =
      by_fingerprint_.emplace(fingerprint, static_cast<uint32_t>(pending_.size()));
  if (!is_new) {
    made_.shards_[known->second].ranks.push_back(rank);
    return false;
  }
  made_.shards_.push_back({fingerprint, total_bytes, {rank}});
  pending_.emplace_back().reserve(slices);
  last_tensor_.reset();
  bytes_end_ = 0;
  return true;
}

void ShardingBuilder::AddSlice(Rank rank, const HeldSlice& slice, uint64_t total_bytes) {
  const uint32_t tensor = TensorOf(slice);
  std::string problem = ProblemOf(slice, tensor);
  if (problem.empty()) {
    box_.clear();
    for (size_t i = 0; i < slice.shape.size(); ++i) {
      box_.push_back({slice.offset[i], slice.offset[i] + slice.shape[i]});
    }
    const uint64_t bits = BitsOfBox(box_, slice.dtype);
    uint64_t end = 0;
    if (bits % 8 != 0 || __builtin_add_overflow(slice.byte_offset, bits / 8, &end)) {
      problem = "has a slice that is no whole number of bytes, or too far away";
    } else {
      problem = PlaceProblemOf(tensor, slice.byte_offset, end, total_bytes);
    }
    if (problem.empty() && bits > 0) {
      pending_.back().push_back({tensor, boxes_.Intern(box_), slice.byte_offset});
    }
    bytes_end_ = std::max(bytes_end_, end);
    last_box_ = box_;
  }
  last_tensor_ = tensor;
  if (!problem.empty()) lies_.Add(slice.name, absl::StrCat(problem, " at rank ", rank));
}

// Made known if it is new. Ranks mostly have the same tensors in the same order.
uint32_t ShardingBuilder::TensorOf(const HeldSlice& slice) {
  const uint32_t guess = last_tensor_ ? *last_tensor_ + 1 : 0;
  if (guess < tensors_.size() && tensors_[guess].name == slice.name) return guess;
  const auto known = by_name_.find(slice.name);
  if (known != by_name_.end()) return known->second;
  const auto tensor = static_cast<uint32_t>(tensors_.size());
  const std::span<const uint64_t> shape = slice.global_shape;
  tensors_.push_back({std::string(slice.name), slice.dtype, {shape.begin(), shape.end()}});
  by_name_.emplace(tensors_.back().name, tensor);
  return tensor;
}

std::string ShardingBuilder::ProblemOf(const HeldSlice& slice, uint32_t tensor) const {
  const Sharding::Tensor& known = tensors_[tensor];
  const std::span<const uint64_t> global = slice.global_shape;
  if (known.dtype != slice.dtype ||
      !std::equal(global.begin(), global.end(), known.global_shape.begin(),
                  known.global_shape.end())) {
    return absl::StrCat("is ", ShowArray(known.dtype, known.global_shape),
                        " at the ranks before and ", ShowArray(slice.dtype, global));
  }
  if (slice.offset.size() != global.size() || slice.shape.size() != global.size() ||
      global.size() > kTensorDimensionsMax || BitsOf(slice.dtype) == 0 ||
      !BitsOfArray(global, slice.dtype) || !IsInside(slice)) {
    return "has a slice that is not inside its global shape";
  }
  return "";
}

// Whether the second name is the later one. Mostly the same two as at the rank before.
bool ShardingBuilder::Follows(uint32_t a, uint32_t b) {
  if (follower_.size() < tensors_.size()) follower_.resize(tensors_.size(), kNone);
  if (follower_[a] == b) return true;
  if (tensors_[a].name >= tensors_[b].name) return false;
  follower_[a] = b;
  return true;
}

// The order of names and boxes must be that of the bytes: what one stream carries then comes in the
// same order at its source and at its reader.
std::string ShardingBuilder::PlaceProblemOf(uint32_t tensor, uint64_t begin, uint64_t end,
                                            uint64_t total) {
  const bool later = !last_tensor_ || Follows(*last_tensor_, tensor) ||
                     (last_tensor_ == tensor && IsBefore(last_box_, box_));
  if (!later || begin < bytes_end_) return "has a slice that is out of order";
  if (end > total) return "has a slice that ends beyond the shard's bytes";
  return "";
}

// --- sorting ------------------------------------------------------------------------------------

absl::StatusOr<Sharding> ShardingBuilder::Build() && {
  absl::Status status =
      lies_.ToStatus(absl::StatusCode::kInvalidArgument, "the group's layouts do not fit together",
                     "give every rank the same dtype and global shape of a tensor");
  if (!status.ok()) return status;
  status = unplaced_.ToStatus(
      absl::StatusCode::kFailedPrecondition, "tensors without a slice in a group of several ranks",
      "register each tensor with its place in the whole one (offset 0 and its own shape if it is "
      "whole), or fetch into equal layouts");
  if (!status.ok()) return status;
  made_.intervals_ = std::move(boxes_).Take();
  SortSlices(SortTensors());
  return std::move(made_);
}

// Returns each one's place in the order.
std::vector<uint32_t> ShardingBuilder::SortTensors() {
  std::vector<uint32_t> order(tensors_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return tensors_[a].name < tensors_[b].name; });
  std::vector<uint32_t> places(order.size());
  by_name_.clear();
  for (uint32_t place = 0; place < order.size(); ++place) {
    places[order[place]] = place;
    made_.tensors_.push_back(std::move(tensors_[order[place]]));
  }
  return places;
}

// Sorts by tensor (counted, then filled in), and within one by box and shard.
void ShardingBuilder::SortSlices(const std::vector<uint32_t>& places) {
  std::vector<size_t>& ends = made_.slice_ends_;
  ends.assign(places.size(), 0);
  for (const std::vector<Pending>& shard : pending_) {
    for (const Pending& slice : shard) ++ends[places[slice.tensor]];
  }
  size_t begin = 0;
  for (size_t& end : ends) begin += std::exchange(end, begin);
  made_.slices_.resize(begin);
  for (uint32_t shard = 0; shard < pending_.size(); ++shard) {
    for (const Pending& slice : std::exchange(pending_[shard], {})) {
      made_.slices_[ends[places[slice.tensor]]++] = {slice.box, shard, slice.byte_offset};
    }
  }
  for (size_t tensor = 0; tensor < ends.size(); ++tensor) {
    const size_t first = tensor == 0 ? 0 : ends[tensor - 1];
    const auto is_before = [&](const Sharding::Slice& a, const Sharding::Slice& b) {
      return a.box != b.box && IsBefore(made_.box(tensor, a), made_.box(tensor, b));
    };
    const auto slices = std::span(made_.slices_).subspan(first, ends[tensor] - first);
    if (std::is_sorted(slices.begin(), slices.end(), is_before)) continue;
    std::stable_sort(slices.begin(), slices.end(), is_before);
  }
}

}  // namespace tensorhub
