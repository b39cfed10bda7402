// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/memory/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/memory_left.h"
#include "common/thread.h"
#include "worker_agent/runtime/thread.h"

namespace tensorhub::agent {
namespace {

// What is left to the process for all else; as much as is taken, if that is less.
constexpr uint64_t kSpare = 256 << 20;
constexpr uint64_t kHugePage = 2 << 20;
constexpr unsigned kPopulateThreads = 8;

}  // namespace

absl::StatusOr<HostMemory> HostMemory::Make(uint64_t bytes) {
  const std::optional<uint64_t> left = MemoryLeft();
  const uint64_t spare = std::min(kSpare, bytes);
  if (left && (*left < spare || *left - spare < bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat("this process can have ", *left,
                                                     " bytes more, of which it should keep ", spare,
                                                     "; a shard takes ", bytes));
  }
  HostMemory memory;
  memory.bytes_ = std::max<uint64_t>(bytes, 1);
  void* const data = mmap(nullptr, memory.bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, /*offset=*/0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this host gives no ", bytes, " bytes of memory"));
  }
  memory.data_ = static_cast<std::byte*>(data);
  // A wish: fewer pages to make, and to lock.
  static_cast<void>(madvise(data, memory.bytes_, MADV_HUGEPAGE));
  // The kernel copies locked pages when a process forks, and children have no use for them.
  static_cast<void>(madvise(data, memory.bytes_, MADV_DONTFORK));
  return memory;
}

// One thread makes a few gigabytes of pages in a second, and whoever unpublishes waits for them.
void HostMemory::Populate() {
  const uint64_t threads = std::clamp(std::thread::hardware_concurrency(), 1u, kPopulateThreads);
  const uint64_t share = (bytes_ / threads + kHugePage) / kHugePage * kHugePage;
  std::atomic<uint64_t> next = 0;
  const WithoutSignals blocked;
  RunInThreads(threads, [this, share, &next] {
    for (uint64_t begin = next.fetch_add(share); begin < bytes_; begin = next.fetch_add(share)) {
      // Refused by kernels before 5.14; then whoever writes makes the pages.
      madvise(data_ + begin, std::min(share, bytes_ - begin), MADV_POPULATE_WRITE);
    }
  });
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
