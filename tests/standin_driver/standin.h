// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A driver without a GPU behind NVIDIA's own interface, so that UCX, and all that finds libcuda at
// run time, work with device memory that is not there: memory of one process that others map by
// cuIpcOpenMemHandle, streams, events and callbacks, our own kernels. What it does is FakeDriver's;
// the files beside this one say it in the driver's words. Only what UCX and our programs call is
// there; what they look for and can do without is left out, as by an old driver.
//
// As the real one: device memory cannot be touched by the CPU, copies are not done when the call
// returns, a handle of a process that has died maps nothing, and one's own handle is refused.
//
// TENSORHUB_STANDIN_DEVICES    how many devices there are (1)
// TENSORHUB_STANDIN_MEMORY     bytes of memory of each (8 GiB)
// TENSORHUB_STANDIN_RATE       GB/s of a copy within a device: a model of its speed (none)
// TENSORHUB_STANDIN_BUS        GB/s of a copy from or to the host, in the model (50)
//
// Thread contract: any thread.

#ifndef TENSORHUB_TESTS_STANDIN_DRIVER_STANDIN_H_
#define TENSORHUB_TESTS_STANDIN_DRIVER_STANDIN_H_

#include <cuda.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/unit/worker_agent/cuda/kernel_driver.h"

namespace tensorhub::standin {

using agent::testing::FakeDriver;

struct Settings {
  int devices = 1;
  uint64_t memory_bytes = uint64_t{8} << 30;
  uint64_t memory_gbps = 0;
  uint64_t bus_gbps = 50;
};
const Settings& TheSettings();

// Made at first use, never destroyed. From then on a thread lets the streams get on by themselves.
agent::testing::KernelDriver& TheDriver();

CUresult ResultOf(const absl::Status& status);

// `*to` is unchanged if it failed.
template <typename To, typename From>
CUresult Give(const absl::StatusOr<From>& from, To* to) {
  if (from.ok()) *to = static_cast<To>(*from);
  return ResultOf(from.status());
}

inline void* Address(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }
inline CUdeviceptr Pointer(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

}  // namespace tensorhub::standin

#endif  // TENSORHUB_TESTS_STANDIN_DRIVER_STANDIN_H_
