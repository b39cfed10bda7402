// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What everybody knows a machine by, to be shown beside our figures.

#ifndef TENSORHUB_BENCH_YARDSTICKS_H_
#define TENSORHUB_BENCH_YARDSTICKS_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace tensorhub::bench {

// memcpy between two touched buffers, GB/s, the median of a few.
absl::StatusOr<double> MemcpyGBps(uint64_t bytes);
// iperf3, one stream over loopback, GB/s. NOT_FOUND: it is not installed.
absl::StatusOr<double> IperfGBps();

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_YARDSTICKS_H_
