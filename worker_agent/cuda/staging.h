// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Page-locked host memory: one buffer, and a pool of equal ones.
//
// Thread contract: one thread at a time. Every call makes the context current itself.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_STAGING_H_
#define TENSORHUB_WORKER_AGENT_CUDA_STAGING_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/cuda/driver.h"

namespace tensorhub::agent {

class HostBuffer {
 public:
  // `primary` outlives the buffer. RESOURCE_EXHAUSTED names the size.
  static absl::StatusOr<HostBuffer> Make(const CudaPrimary& primary, uint64_t bytes) {
    CudaCurrent current(primary);
    const absl::StatusOr<void*> data = primary.driver()->AllocateHost(bytes);
    if (!data.ok()) return data.status();
    return HostBuffer(&primary, static_cast<std::byte*>(*data), bytes);
  }
  HostBuffer() = default;
  ~HostBuffer() {
    if (data_ == nullptr) return;
    CudaCurrent current(*primary_);
    static_cast<void>(primary_->driver()->FreeHost(data_));
  }
  HostBuffer(HostBuffer&& other) noexcept
      : primary_(other.primary_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(primary_, other.primary_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  HostBuffer(const CudaPrimary* primary, std::byte* data, uint64_t bytes)
      : primary_(primary), data_(data), bytes_(bytes) {}

  const CudaPrimary* primary_ = nullptr;
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

// Slots are made when they are first wanted, and kept: page-locking takes longer than a copy.
class StagingPool {
 public:
  StagingPool(const CudaPrimary& primary, uint64_t slot_bytes)
      : primary_(primary), slot_bytes_(slot_bytes) {}

  uint64_t slot_bytes() const { return slot_bytes_; }
  absl::StatusOr<void*> Take() {
    if (free_.empty()) {
      absl::StatusOr<HostBuffer> made = HostBuffer::Make(primary_, slot_bytes_);
      if (!made.ok()) return made.status();
      free_.push_back(made->data());
      slots_.push_back(*std::move(made));
    }
    void* const slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void GiveBack(void* slot) { free_.push_back(slot); }

 private:
  const CudaPrimary& primary_;
  const uint64_t slot_bytes_;
  std::vector<HostBuffer> slots_;
  std::vector<void*> free_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_STAGING_H_
