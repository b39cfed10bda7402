// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Proves that reads are one-sided, the only way there is: by reading from a process that sleeps. A
// read that UCX emulates waits for that process, and would wait for ever; one that is one-sided
// does not notice. The process is this program once more (`tensorhubctl @idle-source "bytes=N
// device=N"`): it makes its memory readable, says where it is, and sleeps until its input ends. One
// with a GPU's memory sleeps only when it is told to: connections by RDMA need both sides.

#ifndef TENSORHUB_TOOLS_CTL_DOCTOR_IDLE_READ_H_
#define TENSORHUB_TOOLS_CTL_DOCTOR_IDLE_READ_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tools/ctl/doctor/finding.h"
#include "worker_agent/cuda/driver.h"

namespace tensorhub::ctl {

struct IdleRead {
  std::string lanes;  // "posix/memory"
  uint64_t bytes = 0;
  double seconds = 0;  // of the second read: the first maps the memory
};

// Reads host memory that UCX allocated. DEADLINE_EXCEEDED: the read waits for the process;
// FAILED_PRECONDITION: UCX offers no such way; DATA_LOSS: other bytes came.
absl::StatusOr<IdleRead> ReadHostMemoryOfIdleProcess(uint64_t bytes);

// The same of a GPU's memory, into more of it.
absl::StatusOr<IdleRead> ReadDeviceMemoryOfIdleProcess(agent::CudaDriver* driver, int device,
                                                       uint64_t bytes);

Finding JudgeHostRead(const absl::StatusOr<IdleRead>& read);
Finding JudgeDeviceRead(const absl::StatusOr<IdleRead>& read);

// What the sleeping process does; its exit code.
int PlayIdleSource(const std::string& arguments);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_DOCTOR_IDLE_READ_H_
