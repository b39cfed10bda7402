// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tensorhub::agent {

absl::StatusOr<HostMemory> HostMemory::Make(uint64_t bytes) {
  HostMemory memory;
  memory.bytes_ = std::max<uint64_t>(bytes, 1);
  void* const data = mmap(nullptr, memory.bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, /*offset=*/0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this host gives no ", bytes, " bytes of memory"));
  }
  memory.data_ = static_cast<std::byte*>(data);
  return memory;
}

HostMemory::~HostMemory() {
  pin_.reset();
  if (data_ != nullptr) munmap(data_, bytes_);
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      pin_(std::move(other.pin_)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(pin_, other.pin_);
  return *this;
}

}  // namespace tensorhub::agent
