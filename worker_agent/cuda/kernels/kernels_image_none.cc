// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/kernels/kernels_image.h"

namespace tensorhub::agent::kernels {

std::span<const char> KernelImage() { return {}; }

}  // namespace tensorhub::agent::kernels
