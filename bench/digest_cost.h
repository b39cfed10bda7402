// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What checking digests costs a read: two pairs of agents over the same path take turns, one with
// digests and one without. The fetch begins when the source has made them, as it will have where
// the path is slower than hashing; a machine of two cores would otherwise measure the making.

#ifndef TENSORHUB_BENCH_DIGEST_COST_H_
#define TENSORHUB_BENCH_DIGEST_COST_H_

#include "absl/status/statusor.h"
#include "bench/pairs.h"

namespace tensorhub::bench {

struct DigestCost {
  double plain_seconds = 0;  // medians
  double checked_seconds = 0;
};

// `options` but for the name's end and for the digests.
absl::StatusOr<DigestCost> MeasureDigestCost(const AgentPair::Options& options, int warm_up_rounds,
                                             int rounds);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_DIGEST_COST_H_
