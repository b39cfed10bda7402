// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The GPUs of this machine, as far as this process is offered them.

#ifndef TENSORHUB_TOOLS_CTL_DOCTOR_GPU_CHECK_H_
#define TENSORHUB_TOOLS_CTL_DOCTOR_GPU_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/ctl/doctor/finding.h"
#include "tools/ctl/doctor/machine.h"
#include "worker_agent/cuda/driver.h"
#include "worker_agent/ucx/ucx_facts.h"

namespace tensorhub::ctl {

struct GpuFacts {
  // Why there is no driver, or no device.
  absl::Status status;
  int driver_version = 0;  // 1000 * major + 10 * minor of the CUDA that it offers
  std::vector<agent::CudaDevice> devices;
  // What the environment tells PyTorch's allocator (PYTORCH_CUDA_ALLOC_CONF).
  std::string allocator;
};

// `driver`: OpenCudaDriver's, but for tests.
GpuFacts LookAtGpus(const absl::StatusOr<agent::CudaDriver*>& driver);

Finding JudgeDriver(const GpuFacts& gpus, const MachineFacts& machine);
// One for each device.
std::vector<Finding> JudgeDevices(const GpuFacts& gpus, const MachineFacts& machine);
// Whether what allocates the tensors does it so that other processes can map them.
Finding JudgeAllocator(const GpuFacts& gpus);
// Whether UCX tells device memory from the host's, and which of its transports read it.
Finding JudgeUcxForGpus(const absl::StatusOr<agent::UcxFacts>& ucx, const GpuFacts& gpus,
                        const MachineFacts& machine);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_DOCTOR_GPU_CHECK_H_
