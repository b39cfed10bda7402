// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What it takes to publish a version that another group holds: its bytes are hashed and compared
// first (R1). Beside it, the same bytes hashed by one thread.

#ifndef TENSORHUB_BENCH_JOIN_COST_H_
#define TENSORHUB_BENCH_JOIN_COST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tensorhub::bench {

struct JoinCost {
  double join_us = 0;  // medians over the rounds
  double hash_us = 0;
};

// `model` is used by nobody else. Takes twice `bytes` of memory. Blocks.
absl::StatusOr<JoinCost> MeasureJoin(const std::string& server, const std::string& model,
                                     uint64_t bytes, int rounds);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_JOIN_COST_H_
