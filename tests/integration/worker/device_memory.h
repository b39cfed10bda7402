// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Blocks of a GPU's memory, and bytes that go there and come back.

#ifndef TENSORHUB_TESTS_INTEGRATION_WORKER_DEVICE_MEMORY_H_
#define TENSORHUB_TESTS_INTEGRATION_WORKER_DEVICE_MEMORY_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/cuda/driver.h"
#include "worker_agent/cuda/owned.h"

namespace tensorhub::worker {

class DeviceMemory {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceMemory>> Open(int device);
  // Frees all blocks.
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  absl::StatusOr<void*> Allocate(size_t bytes);
  // Between any two of device and host memory; done when it returns.
  absl::Status Copy(void* to, const void* from, size_t bytes);

 private:
  DeviceMemory() = default;

  agent::CudaPrimary primary_;
  agent::OwnedStream stream_;
  std::vector<void*> blocks_;
};

}  // namespace tensorhub::worker

#endif  // TENSORHUB_TESTS_INTEGRATION_WORKER_DEVICE_MEMORY_H_
