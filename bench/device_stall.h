// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whether a publish holds up what else the device does.

#ifndef TENSORHUB_BENCH_DEVICE_STALL_H_
#define TENSORHUB_BENCH_DEVICE_STALL_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/cuda/driver.h"

namespace tensorhub::bench {

// Seconds by which a train of work in one stream takes longer when `publish` is called beside it,
// with another stream that it has to wait for. May come out below 0.
absl::StatusOr<double> MeasureStall(agent::CudaDriver* driver, int device,
                                    const std::function<absl::Status(void* stream)>& publish);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_DEVICE_STALL_H_
