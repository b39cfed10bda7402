// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/memory/memory.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/text.h"
#include "worker_agent/memory/medium.h"

namespace tensorhub::agent {
namespace {

constexpr uintptr_t kPageBytes = 4096;

uintptr_t AddressOf(const TensorBuffer& tensor) { return reinterpret_cast<uintptr_t>(tensor.data); }

absl::StatusOr<TensorSpec> SpecOf(const TensorBuffer& tensor) {
  const std::optional<DType> dtype = ParseDType(tensor.dtype);
  if (!dtype) {
    return absl::InvalidArgumentError(
        absl::StrFormat("tensor %s: dtype %s is unknown; use a name of safetensors, such as "
                        "\"BF16\", or \"U8\" for opaque bytes",
                        Shown(tensor.name), Shown(tensor.dtype)));
  }
  return TensorSpec{tensor.name, *dtype, tensor.shape, tensor.slice};
}

absl::Status CheckPlace(const TensorBuffer& tensor) {
  if (tensor.data == nullptr && tensor.bytes > 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("tensor %s: the address is null; pass the memory of its %d bytes",
                        Shown(tensor.name), tensor.bytes));
  }
  if (tensor.bytes > std::numeric_limits<uintptr_t>::max() - AddressOf(tensor)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "tensor %s: %d bytes from its address on run past the end of memory; correct the size",
        Shown(tensor.name), tensor.bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckSize(const TensorBuffer& tensor, const TensorSpec& spec) {
  const absl::StatusOr<uint64_t> bytes = BytesOf(spec);
  if (!bytes.ok()) return bytes.status();
  if (*bytes == tensor.bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "tensor %s: %d bytes were given, but shape [%s] of %s takes %d; correct the shape, the dtype "
      "or the size",
      Shown(tensor.name), tensor.bytes, absl::StrJoin(tensor.shape, ", "), tensor.dtype, *bytes));
}

absl::StatusOr<std::vector<TensorSpec>> CheckedSpecs(const std::vector<TensorBuffer>& tensors) {
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const TensorBuffer& tensor : tensors) {
    absl::StatusOr<TensorSpec> spec = SpecOf(tensor);
    if (!spec.ok()) return spec.status();
    absl::Status status = CheckPlace(tensor);
    if (status.ok()) status = CheckSize(tensor, *spec);
    if (!status.ok()) return status;
    specs.push_back(*std::move(spec));
  }
  return specs;
}

// The tensors that have bytes, by address.
std::vector<const TensorBuffer*> ByAddress(const std::vector<TensorBuffer>& tensors) {
  std::vector<const TensorBuffer*> sorted;
  sorted.reserve(tensors.size());
  for (const TensorBuffer& tensor : tensors) {
    if (tensor.bytes > 0) sorted.push_back(&tensor);
  }
  std::sort(sorted.begin(), sorted.end(), [](const TensorBuffer* a, const TensorBuffer* b) {
    return AddressOf(*a) < AddressOf(*b);
  });
  return sorted;
}

absl::Status CheckOverlaps(const std::vector<const TensorBuffer*>& by_address) {
  for (size_t i = 1; i < by_address.size(); ++i) {
    const TensorBuffer& before = *by_address[i - 1];
    const TensorBuffer& tensor = *by_address[i];
    if (AddressOf(before) + before.bytes > AddressOf(tensor)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("tensors %s and %s overlap in memory; register shared memory under one "
                          "name only",
                          Shown(before.name), Shown(tensor.name)));
    }
  }
  return absl::OkStatus();
}

std::string PlaceOf(const TensorBuffer& tensor) {
  return tensor.cuda ? absl::StrFormat("on CUDA device %d", tensor.cuda_device) : "in host memory";
}

// A worker is one process and one device: what a peer reads, it reads from one place.
absl::Status CheckOnePlace(const std::vector<const TensorBuffer*>& tensors) {
  for (const TensorBuffer* tensor : tensors) {
    const TensorBuffer& first = *tensors.front();
    if (tensor->cuda == first.cuda && (!tensor->cuda || tensor->cuda_device == first.cuda_device)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrFormat(
        "tensor %s is %s and tensor %s %s; the tensors of one client lie in one place: connect a "
        "client, with a rank of its own, for each device",
        Shown(first.name), PlaceOf(first), Shown(tensor->name), PlaceOf(*tensor)));
  }
  return absl::OkStatus();
}

size_t CountRegions(const std::vector<const TensorBuffer*>& by_address) {
  size_t count = 0;
  uintptr_t last_page = 0;
  for (const TensorBuffer* tensor : by_address) {
    const uintptr_t first = AddressOf(*tensor);
    const uintptr_t last = first + tensor->bytes - 1;
    // A neighbouring page touches: what lies on both is registered as a whole anyway.
    if (count == 0 || first / kPageBytes > last_page + 1) ++count;
    last_page = last / kPageBytes;
  }
  return count;
}

}  // namespace

absl::StatusOr<Memory> Memory::Make(const std::vector<TensorBuffer>& tensors) {
  absl::StatusOr<std::vector<TensorSpec>> specs = CheckedSpecs(tensors);
  if (!specs.ok()) return specs.status();
  std::vector<size_t> order;
  absl::StatusOr<Layout> layout = Layout::Make(*specs, &order);
  if (!layout.ok()) return layout.status();
  const std::vector<const TensorBuffer*> by_address = ByAddress(tensors);
  absl::Status status = CheckOverlaps(by_address);
  if (status.ok()) status = CheckOnePlace(by_address);
  if (!status.ok()) return status;

  Memory memory;
  memory.layout_ = *std::move(layout);
  memory.region_count_ = CountRegions(by_address);
  memory.medium_ = HostMedium();
  if (!by_address.empty() && by_address.front()->cuda) {
    memory.cuda_device_ = by_address.front()->cuda_device;
  }
  for (size_t i : order) {
    if (tensors[i].bytes > 0) {
      memory.Append(static_cast<std::byte*>(tensors[i].data), tensors[i].bytes);
    }
  }
  return memory;
}

void Memory::Append(std::byte* data, uint64_t bytes) {
  if (segments_.empty()) {
    segments_.push_back({0, data, bytes});
    return;
  }
  Segment& last = segments_.back();
  if (last.data + last.bytes == data) {
    last.bytes += bytes;
  } else {
    segments_.push_back({last.begin + last.bytes, data, bytes});
  }
}

size_t Memory::Find(uint64_t offset) const {
  const auto after =
      std::upper_bound(segments_.begin(), segments_.end(), offset,
                       [](uint64_t wanted, const Segment& s) { return wanted < s.begin; });
  return static_cast<size_t>(after - segments_.begin()) - 1;
}

void Memory::Pieces(ByteRange range, std::vector<Piece>& pieces) const {
  pieces.clear();
  AppendPieces(range, pieces);
}

void Memory::Pieces(std::span<const ByteRange> ranges, std::vector<Piece>& pieces) const {
  pieces.clear();
  for (const ByteRange& range : ranges) AppendPieces(range, pieces);
}

void Memory::AppendPieces(ByteRange range, std::vector<Piece>& pieces) const {
  TH_CHECK(range.begin <= total_bytes() && range.bytes <= total_bytes() - range.begin);
  if (range.bytes == 0) return;
  for (size_t i = Find(range.begin); range.bytes > 0; ++i) {
    const Segment& segment = segments_[i];
    const uint64_t skipped = range.begin - segment.begin;
    const uint64_t bytes = std::min(range.bytes, segment.bytes - skipped);
    pieces.push_back({segment.data + skipped, bytes});
    range.begin += bytes;
    range.bytes -= bytes;
  }
}

}  // namespace tensorhub::agent
