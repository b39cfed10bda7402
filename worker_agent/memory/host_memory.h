// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Memory for a whole shard, from the operating system and back to it.

#ifndef TENSORHUB_WORKER_AGENT_MEMORY_HOST_MEMORY_H_
#define TENSORHUB_WORKER_AGENT_MEMORY_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"

namespace tensorhub::agent {

class HostMemory {
 public:
  // RESOURCE_EXHAUSTED names the size; also if the host, or the process's container, has not as
  // much left.
  static absl::StatusOr<HostMemory> Make(uint64_t bytes);

  HostMemory() = default;
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;

  // Page aligned; pages are there once they are written.
  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  // Makes the pages now. Page-locking needs them, and would make them one by one.
  void Populate();

  // What has been done to the memory, and is undone before it goes: page-locking.
  bool pinned() const { return pin_ != nullptr; }
  void Pin(std::shared_ptr<void> pin) { pin_ = std::move(pin); }

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
  std::shared_ptr<void> pin_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_MEMORY_HOST_MEMORY_H_
