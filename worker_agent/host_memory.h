// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Memory for a whole shard, from the operating system and back to it.

#ifndef TENSORHUB_WORKER_AGENT_HOST_MEMORY_H_
#define TENSORHUB_WORKER_AGENT_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace tensorhub::agent {

class HostMemory {
 public:
  // RESOURCE_EXHAUSTED names the size.
  static absl::StatusOr<HostMemory> Make(uint64_t bytes);

  HostMemory() = default;
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;

  // Page aligned; pages are there once they are written.
  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HOST_MEMORY_H_
