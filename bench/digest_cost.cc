// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/digest_cost.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/figures.h"

namespace tensorhub::bench {
namespace {

absl::StatusOr<std::unique_ptr<AgentPair>> StartPair(AgentPair::Options options,
                                                     const char* digests) {
  absl::StrAppend(&options.name, ".digests-", digests);
  options.environment["TENSORHUB_DIGESTS"] = digests;
  options.settle = true;
  return AgentPair::Start(options);
}

}  // namespace

absl::StatusOr<DigestCost> MeasureDigestCost(const AgentPair::Options& options, int warm_up_rounds,
                                             int rounds) {
  absl::StatusOr<std::unique_ptr<AgentPair>> plain = StartPair(options, "off");
  if (!plain.ok()) return plain.status();
  absl::StatusOr<std::unique_ptr<AgentPair>> checked = StartPair(options, "on");
  if (!checked.ok()) return checked.status();
  std::vector<double> seconds[2];
  for (int round = 0; round < warm_up_rounds + rounds; ++round) {
    for (int turn = 0; turn < 2; ++turn) {
      const int who = (turn + round) % 2;
      const absl::StatusOr<AgentPair::Sample> sample = (who == 0 ? *plain : *checked)->Round();
      if (!sample.ok()) return sample.status();
      if (round >= warm_up_rounds) seconds[who].push_back(sample->seconds);
    }
  }
  if (absl::Status status = (*checked)->Verify(); !status.ok()) return status;
  return DigestCost{Median(seconds[0]), Median(seconds[1])};
}

}  // namespace tensorhub::bench
