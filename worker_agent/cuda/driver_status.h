// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The driver's results as statuses: the only place that maps them.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_DRIVER_STATUS_H_
#define TENSORHUB_WORKER_AGENT_CUDA_DRIVER_STATUS_H_

#include <string_view>

#include "absl/status/status.h"

namespace tensorhub::agent {

// `result` is a CUresult; `name` and `text` are what the driver calls it, `call` what returned it.
absl::Status CudaStatus(int result, std::string_view call, std::string_view name,
                        std::string_view text);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_DRIVER_STATUS_H_
