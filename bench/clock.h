// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What took how long, by the steady clock.

#ifndef TENSORHUB_BENCH_CLOCK_H_
#define TENSORHUB_BENCH_CLOCK_H_

#include <chrono>

namespace tensorhub::bench {

using Clock = std::chrono::steady_clock;

inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
inline double MicrosecondsSince(Clock::time_point start) { return SecondsSince(start) * 1e6; }

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_CLOCK_H_
