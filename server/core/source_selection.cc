// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/source_selection.h"

#include <algorithm>
#include <tuple>

namespace tensorhub::hub {

bool IsBetter(const Candidate& a, const Candidate& b, uint32_t readers_per_source) {
  const auto rank = [&](const Candidate& c) {
    return std::make_tuple(c.behind, c.tier, c.readers >= readers_per_source, c.readers,
                           ~c.valid_chunks, !c.stable);
  };
  const auto rank_a = rank(a);
  const auto rank_b = rank(b);
  return rank_a != rank_b ? rank_a < rank_b : a.worker < b.worker;
}

std::optional<Candidate> Best(const std::vector<Candidate>& candidates,
                              uint32_t readers_per_source) {
  const auto best = std::min_element(
      candidates.begin(), candidates.end(),
      [&](const Candidate& a, const Candidate& b) { return IsBetter(a, b, readers_per_source); });
  if (best == candidates.end()) return std::nullopt;
  return *best;
}

}  // namespace tensorhub::hub
