// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Memory for a read of the doctor's, of the host or of a GPU.
//
// Thread contract: one thread; what is a GPU's keeps its context current there as long as it lives.

#ifndef TENSORHUB_TOOLS_CTL_DOCTOR_IDLE_MEMORY_H_
#define TENSORHUB_TOOLS_CTL_DOCTOR_IDLE_MEMORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/cuda/driver.h"

namespace tensorhub::ctl {

class IdleMemory {
 public:
  virtual ~IdleMemory() = default;
  virtual void* data() = 0;
  // All of it.
  virtual absl::Status Write(const std::vector<unsigned char>& bytes) = 0;
  virtual absl::StatusOr<std::vector<unsigned char>> Read() = 0;
};

std::unique_ptr<IdleMemory> HostMemoryForRead(uint64_t bytes);
absl::StatusOr<std::unique_ptr<IdleMemory>> DeviceMemoryForRead(agent::CudaDriver* driver,
                                                                int device, uint64_t bytes);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_DOCTOR_IDLE_MEMORY_H_
