// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/source_selection.h"

#include <algorithm>
#include <limits>

namespace tensorhub::hub {
namespace {

Candidate OneOf(const SourceClass& wanted) {
  Candidate candidate;
  candidate.behind = wanted.behind;
  candidate.slow = wanted.slow;
  candidate.crowded = wanted.crowded;
  candidate.tier = wanted.tier;
  return candidate;
}

std::array<SourceClass, 32> SortedClasses() {
  std::array<SourceClass, 32> classes;
  size_t count = 0;
  for (const Tier tier : {Tier::kHost, Tier::kRack, Tier::kDatacenter, Tier::kRemote}) {
    for (const bool behind : {false, true}) {
      for (const bool slow : {false, true}) {
        for (const bool crowded : {false, true}) classes[count++] = {behind, slow, crowded, tier};
      }
    }
  }
  std::sort(classes.begin(), classes.end(), [](const SourceClass& a, const SourceClass& b) {
    return IsBetter(OneOf(a), OneOf(b));
  });
  return classes;
}

// SkipTo rests on it: of one class are, among holders that are alike in `slow` and `unreliable`,
// neighbours by their counts of readers, and among those with equal counts by progress.
static_assert(HolderRank{.slow = true} > HolderRank{.unreliable = true});
static_assert(HolderRank{.unreliable = true} > HolderRank{.readers = 1});
static_assert(HolderRank{.readers = 1} > HolderRank{.steps_missing = 1});
static_assert(HolderRank{.steps_missing = 1} > HolderRank{.spot = true, .depth = 1});

}  // namespace

uint32_t StepsMissing(uint32_t valid_chunks, uint32_t chunks) {
  const uint64_t missing = chunks - std::min(valid_chunks, chunks);
  if (missing == 0) return 0;
  return static_cast<uint32_t>((missing * kProgressSteps + chunks - 1) / chunks);
}

std::string_view WhatDecides(const Candidate& better, const Candidate& other) {
  for (const Criterion& by : kRanking) {
    if (by.Of(better) != by.Of(other)) return by.better;
  }
  return kRanking.back().better;
}

std::optional<Candidate> Best(const std::vector<Candidate>& candidates) {
  const auto best = std::min_element(candidates.begin(), candidates.end(), IsBetter);
  if (best == candidates.end()) return std::nullopt;
  return *best;
}

const std::array<SourceClass, 32>& ClassesInOrder() {
  static const std::array<SourceClass, 32> classes = SortedClasses();
  return classes;
}

bool SourcePolicy::IsFree(const std::optional<HolderRank>& rank) const {
  return rank && !rank->slow && !rank->unreliable && rank->steps_missing == 0 &&
         rank->readers < readers_per_source_;
}

std::optional<HolderRank> SourcePolicy::SkipTo(const HolderRank& rank, const SourceClass& wanted,
                                               uint32_t steps_allowed) const {
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  HolderRank next{.slow = rank.slow, .unreliable = rank.unreliable, .readers = rank.readers};
  const bool crowded = IsCrowded(wanted.tier, rank.readers);
  if (crowded && !wanted.crowded) {
    next.unreliable = true;
    next.readers = rank.unreliable ? kNone : 0;
    return next;
  }
  if (!crowded && wanted.crowded) {
    next.readers = PlacesFor(wanted.tier);
    return next;
  }
  if (!wanted.behind && rank.steps_missing > steps_allowed) {
    ++next.readers;
    return next;
  }
  if (wanted.behind && rank.steps_missing <= steps_allowed) {
    next.steps_missing = steps_allowed + 1;
    return next;
  }
  return std::nullopt;
}

}  // namespace tensorhub::hub
