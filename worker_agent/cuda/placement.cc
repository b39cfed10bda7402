// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/placement.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/text.h"

namespace tensorhub::agent {
namespace {

absl::Status Refuse(const TensorBuffer& tensor, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrFormat("tensor %s %s", Shown(tensor.name), what));
}

uint64_t AddressOf(const std::byte* data) { return reinterpret_cast<uintptr_t>(data); }

absl::Status CheckDevice(const TensorBuffer& tensor, CudaDriver& driver) {
  const absl::StatusOr<int> count = driver.DeviceCount();
  if (!count.ok()) return count.status();
  if (tensor.cuda_device >= 0 && tensor.cuda_device < *count) return absl::OkStatus();
  return Refuse(tensor, absl::StrFormat("says device_index %d, but this process sees %d devices, "
                                        "from 0 on (CUDA_VISIBLE_DEVICES says which)",
                                        tensor.cuda_device, *count));
}

absl::Status CheckKind(const TensorBuffer& tensor, const CudaPointer& found) {
  switch (found.kind) {
    case CudaMemoryKind::kUnknown:
      return Refuse(tensor,
                    "says that it is on a device, but its address is host memory, or memory that "
                    "was freed; pass live device memory, or say that it is on the host");
    case CudaMemoryKind::kHost:
      return Refuse(tensor,
                    "says that it is on a device, but it is in page-locked host memory; say that "
                    "it is on the host");
    case CudaMemoryKind::kManaged:
      return Refuse(tensor,
                    "is in managed memory, which may be anywhere; allocate it with cudaMalloc");
    case CudaMemoryKind::kDevice:
      break;
  }
  if (found.device == tensor.cuda_device) return absl::OkStatus();
  return Refuse(tensor, absl::StrFormat("says device_index %d, but is on device %d; correct it",
                                        tensor.cuda_device, found.device));
}

// Memory of the virtual memory interface: one tensor may lie in several allocations that are mapped
// one behind the other.
bool IsVirtual(const CudaPointer& found) { return !found.legacy_ipc && !found.pooled; }

// The first byte's allocation; the others are looked at as well.
absl::StatusOr<CudaPointer> Find(const TensorBuffer& tensor, CudaDriver& driver) {
  const auto* const data = static_cast<const std::byte*>(tensor.data);
  absl::StatusOr<CudaPointer> first = driver.Lookup(data);
  if (!first.ok()) return first;
  if (absl::Status status = CheckKind(tensor, *first); !status.ok()) return status;
  uint64_t end = first->begin + first->bytes;
  while (end - AddressOf(data) < tensor.bytes && IsVirtual(*first)) {
    const absl::StatusOr<CudaPointer> next = driver.Lookup(reinterpret_cast<void*>(end));
    if (!next.ok() || next->device != first->device || next->begin != end) break;
    end = next->begin + next->bytes;
  }
  const uint64_t room = end - AddressOf(data);
  if (room >= tensor.bytes) return first;
  return Refuse(tensor, absl::StrFormat("is %d bytes long, but its allocation ends after %d; "
                                        "correct the address or the size",
                                        tensor.bytes, room));
}

// `regions` are in the order of addresses, and `found` lies behind them or in the last.
void AddTo(std::vector<CudaPlacement::Region>& regions, const TensorBuffer& tensor,
           const CudaPointer& found) {
  auto* const data = static_cast<std::byte*>(tensor.data);
  if (!regions.empty()) {
    CudaPlacement::Region& last = regions.back();
    const bool same =
        found.begin <= AddressOf(last.data) || AddressOf(data) < AddressOf(last.data) + last.bytes;
    if (same) {
      last.bytes = static_cast<uint64_t>(data - last.data) + tensor.bytes;
      return;
    }
  }
  regions.push_back({data, tensor.bytes, found.allocation_id});
}

std::string Unshared(size_t count, size_t of, const char* where, const char* remedy) {
  return absl::StrFormat(
      "%d of %d tensors are in %s, which peers on this host cannot map by cuda_ipc, so that reads "
      "there are slow or fail; %s",
      count, of, where, remedy);
}

void Warn(size_t virtual_count, size_t pooled_count, size_t of, CudaPlacement& out) {
  if (virtual_count > 0) {
    out.warnings.push_back(Unshared(
        virtual_count, of, "memory of CUDA's virtual memory interface",
        "with PyTorch set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False before it starts"));
  }
  if (pooled_count > 0) {
    out.warnings.push_back(Unshared(
        pooled_count, of, "a stream-ordered pool (cudaMallocAsync)",
        "with PyTorch set PYTORCH_CUDA_ALLOC_CONF=backend:native before it starts, otherwise "
        "allocate with cudaMalloc"));
  }
}

std::vector<const TensorBuffer*> ByAddress(const std::vector<TensorBuffer>& tensors) {
  std::vector<const TensorBuffer*> sorted;
  for (const TensorBuffer& tensor : tensors) {
    if (tensor.bytes > 0) sorted.push_back(&tensor);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const TensorBuffer* a, const TensorBuffer* b) { return a->data < b->data; });
  return sorted;
}

}  // namespace

absl::StatusOr<int> DeviceOf(const std::vector<TensorBuffer>& tensors, CudaDriver& driver) {
  int device = 0;
  for (const TensorBuffer& tensor : tensors) {
    if (tensor.bytes == 0) continue;
    if (absl::Status status = CheckDevice(tensor, driver); !status.ok()) return status;
    device = tensor.cuda_device;
  }
  return device;
}

absl::StatusOr<CudaPlacement> PlaceOnDevice(const std::vector<TensorBuffer>& tensors,
                                            CudaDriver& driver) {
  CudaPlacement out;
  size_t virtual_count = 0;
  size_t pooled_count = 0;
  const std::vector<const TensorBuffer*> sorted = ByAddress(tensors);
  for (const TensorBuffer* tensor : sorted) {
    const absl::StatusOr<CudaPointer> found = Find(*tensor, driver);
    if (!found.ok()) return found.status();
    out.device = tensor->cuda_device;
    virtual_count += IsVirtual(*found) ? 1 : 0;
    pooled_count += found->pooled ? 1 : 0;
    AddTo(out.regions, *tensor, *found);
  }
  Warn(virtual_count, pooled_count, sorted.size(), out);
  return out;
}

absl::Status CheckOnHost(const std::vector<TensorBuffer>& tensors, CudaDriver* driver) {
  if (driver == nullptr) return absl::OkStatus();
  for (const TensorBuffer& tensor : tensors) {
    if (tensor.bytes == 0) continue;
    const absl::StatusOr<CudaPointer> found = driver->Lookup(tensor.data);
    if (!found.ok() || found->kind != CudaMemoryKind::kDevice) continue;
    return Refuse(tensor, absl::StrFormat("says that it is in host memory, but is on CUDA device "
                                          "%d; say so, with device_index %d",
                                          found->device, found->device));
  }
  return absl::OkStatus();
}

absl::Status CheckStillThere(const CudaPlacement& placement, CudaDriver& driver) {
  for (const CudaPlacement::Region& region : placement.regions) {
    const absl::StatusOr<CudaPointer> found = driver.Lookup(region.data);
    if (!found.ok()) return found.status();
    const bool there = found->kind == CudaMemoryKind::kDevice &&
                       found->device == placement.device &&
                       found->allocation_id == region.allocation_id;
    if (there) continue;
    return absl::FailedPreconditionError(absl::StrFormat(
        "registered memory of CUDA device %d (%d bytes at %p) was freed; it must outlive the "
        "client: connect a new one and register what is there now",
        placement.device, region.bytes, region.data));
  }
  return absl::OkStatus();
}

}  // namespace tensorhub::agent
