// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// In place of libcuda.cc and driver.cc where CUDA's headers were not there.

#include "worker_agent/cuda/driver.h"

namespace tensorhub::agent {

absl::StatusOr<CudaDriver*> OpenCudaDriver() {
  return absl::FailedPreconditionError(
      "this TensorHub was built without CUDA's headers; build it with the CUDA toolkit "
      "(TENSORHUB_CUDA=ON), or register host memory");
}

CudaDriver* LoadedCudaDriver() { return nullptr; }

bool BuiltWithCuda() { return false; }

}  // namespace tensorhub::agent
