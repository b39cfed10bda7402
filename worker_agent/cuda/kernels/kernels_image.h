// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The compiled kernels.cu: made by nvcc during the build, part of the binary.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_KERNELS_KERNELS_IMAGE_H_
#define TENSORHUB_WORKER_AGENT_CUDA_KERNELS_KERNELS_IMAGE_H_

#include <span>

namespace tensorhub::agent::kernels {

// A fat binary for the driver. Empty where the build found no nvcc.
std::span<const char> KernelImage();

}  // namespace tensorhub::agent::kernels

#endif  // TENSORHUB_WORKER_AGENT_CUDA_KERNELS_KERNELS_IMAGE_H_
