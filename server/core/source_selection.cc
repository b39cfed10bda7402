// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/source_selection.h"

#include <algorithm>
#include <tuple>

namespace tensorhub::hub {

uint32_t StepsMissing(uint32_t valid_chunks, uint32_t chunks) {
  const uint64_t missing = chunks - std::min(valid_chunks, chunks);
  if (missing == 0) return 0;
  return static_cast<uint32_t>((missing * kProgressSteps + chunks - 1) / chunks);
}

uint32_t PlacesFor(Tier tier, uint32_t readers_per_source) {
  return tier == Tier::kHost ? readers_per_source + 1 : readers_per_source;
}

bool IsBetter(const Candidate& a, const Candidate& b) {
  const auto rank = [](const Candidate& c) {
    return std::make_tuple(c.tier == Tier::kRemote, c.behind, c.slow, c.crowded, c.tier,
                           c.unreliable, c.uplink, c.readers, c.steps_missing, !c.stable);
  };
  const auto rank_a = rank(a);
  const auto rank_b = rank(b);
  return rank_a != rank_b ? rank_a < rank_b : a.serial < b.serial;
}

std::optional<Candidate> Best(const std::vector<Candidate>& candidates) {
  const auto best = std::min_element(candidates.begin(), candidates.end(), IsBetter);
  if (best == candidates.end()) return std::nullopt;
  return *best;
}

}  // namespace tensorhub::hub
