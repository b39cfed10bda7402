// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where the tensors of a shard are, in the driver's words rather than their owner's. Asked once,
// when they are registered, so that nothing later takes a pointer for what it is not.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_PLACEMENT_H_
#define TENSORHUB_WORKER_AGENT_CUDA_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/cuda/driver.h"
#include "worker_agent/memory/memory.h"

namespace tensorhub::agent {

struct CudaPlacement {
  // The part of an allocation that tensors lie in, from the first one's begin to the last one's
  // end.
  struct Region {
    std::byte* data = nullptr;
    uint64_t bytes = 0;
    uint64_t allocation_id = 0;
  };

  int device = 0;
  std::vector<Region> regions;  // ascending, apart from one another
  // What works, but not as well as it could; a line each, for the owner.
  std::vector<std::string> warnings;
};

// The device that the tensors say they are on. INVALID_ARGUMENT names the tensor that has none.
absl::StatusOr<int> DeviceOf(const std::vector<TensorBuffer>& tensors, CudaDriver& driver);

// Places tensors that say they are on one device, DeviceOf's, whose context is current; those
// without bytes are nowhere. INVALID_ARGUMENT names the tensor: host or managed memory; memory that
// was freed, or never was; another device's; memory beyond its allocation. Otherwise the driver's
// errors.
absl::StatusOr<CudaPlacement> PlaceOnDevice(const std::vector<TensorBuffer>& tensors,
                                            CudaDriver& driver);

// Checks tensors that say they are in host memory: INVALID_ARGUMENT if one is on a device. `driver`
// is LoadedCudaDriver's: if it is null, none is.
absl::Status CheckOnHost(const std::vector<TensorBuffer>& tensors, CudaDriver* driver);

// FAILED_PRECONDITION if an allocation is not there any more, or another one took its place.
absl::Status CheckStillThere(const CudaPlacement& placement, CudaDriver& driver);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_PLACEMENT_H_
