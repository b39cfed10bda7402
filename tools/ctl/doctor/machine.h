// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What this machine offers an agent: shared memory, memory that may be locked, devices.

#ifndef TENSORHUB_TOOLS_CTL_DOCTOR_MACHINE_H_
#define TENSORHUB_TOOLS_CTL_DOCTOR_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tools/ctl/doctor/finding.h"

namespace tensorhub::ctl {

struct MachineFacts {
  bool dev_shm = false;  // there is one
  uint64_t dev_shm_bytes = 0;
  uint64_t dev_shm_free = 0;
  std::optional<uint64_t> lockable_bytes;  // nothing: no limit
  bool rdma_devices = false;
  bool nvidia_devices = false;  // the kernel's driver has some
  bool peer_memory = false;     // the nvidia_peermem module is loaded
};

// `root`: of the file system, "/" but for tests.
MachineFacts LookAtMachine(const std::string& root = "/");

Finding JudgeSharedMemory(const MachineFacts& machine);
Finding JudgeLockedMemory(const MachineFacts& machine);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_DOCTOR_MACHINE_H_
