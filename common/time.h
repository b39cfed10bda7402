// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Time as the two cores know it.

#ifndef TENSORHUB_COMMON_TIME_H_
#define TENSORHUB_COMMON_TIME_H_

#include <cstdint>

namespace tensorhub {

// Milliseconds: a duration, or a time of a monotonic clock that a core's owner reads.
using TimeMs = int64_t;

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_TIME_H_
