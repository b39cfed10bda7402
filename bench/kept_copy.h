// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One worker, the only one to hold the versions it publishes, and a hub that keeps the latest: when
// the worker gives one up, its bytes are copied to host memory first, and it can fetch them again.

#ifndef TENSORHUB_BENCH_KEPT_COPY_H_
#define TENSORHUB_BENCH_KEPT_COPY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "bench/pairs.h"
#include "tools/child/child.h"

namespace tensorhub::bench {

class KeptCopy {
 public:
  struct Sample {
    double out_seconds = 0;  // of Unpublish
    double in_seconds = 0;   // of Fetch
  };

  // Takes the options of a source, and the way that fetches must turn out to go.
  static absl::StatusOr<std::unique_ptr<KeptCopy>> Start(const AgentPair::Options& options);
  absl::StatusOr<Sample> Round();

 private:
  explicit KeptCopy(const AgentPair::Options& options) : options_(options) {}

  const AgentPair::Options options_;
  uint64_t version_ = 0;
  std::unique_ptr<Child> worker_;
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_KEPT_COPY_H_
