// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/source_selection.h"

#include <algorithm>
#include <array>

namespace tensorhub::hub {
namespace {

// In the order in which they count; less is better.
using Ranks = std::array<uint32_t, 11>;

Ranks RanksOf(const Candidate& c) {
  return {c.tier == Tier::kRemote, c.behind,     c.slow,   c.crowded,
          uint32_t(c.tier),        c.unreliable, c.uplink, c.readers,
          c.steps_missing,         !c.stable,    c.depth};
}

constexpr std::array<std::string_view, 11> kCriteria = {"in its datacenter",
                                                        "has what it lacks",
                                                        "is not slow",
                                                        "has a free place",
                                                        "is nearer",
                                                        "nobody complains of it",
                                                        "fewer reads leave its datacenter",
                                                        "has fewer readers",
                                                        "has more of it",
                                                        "is stable",
                                                        "reads through fewer"};

}  // namespace

uint32_t StepsMissing(uint32_t valid_chunks, uint32_t chunks) {
  const uint64_t missing = chunks - std::min(valid_chunks, chunks);
  if (missing == 0) return 0;
  return static_cast<uint32_t>((missing * kProgressSteps + chunks - 1) / chunks);
}

uint32_t PlacesFor(Tier tier, uint32_t readers_per_source) {
  return tier == Tier::kHost ? readers_per_source + 1 : readers_per_source;
}

bool IsBetter(const Candidate& a, const Candidate& b) {
  const Ranks rank_a = RanksOf(a);
  const Ranks rank_b = RanksOf(b);
  return rank_a != rank_b ? rank_a < rank_b : a.serial < b.serial;
}

std::string_view WhatDecides(const Candidate& better, const Candidate& other) {
  const Ranks rank = RanksOf(better);
  const Ranks second = RanksOf(other);
  for (size_t i = 0; i < rank.size(); ++i) {
    if (rank[i] != second[i]) return kCriteria[i];
  }
  return "came first";
}

std::optional<Candidate> Best(const std::vector<Candidate>& candidates) {
  const auto best = std::min_element(candidates.begin(), candidates.end(), IsBetter);
  if (best == candidates.end()) return std::nullopt;
  return *best;
}

}  // namespace tensorhub::hub
