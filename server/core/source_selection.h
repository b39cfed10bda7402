// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which of several holders a reader is given (R5; docs/architecture.md, "Source selection"): the
// ranking, over plain values. It is the definition; choosing.cc finds the same holder without
// looking at all of them, and CheckInvariants compares the two.

#ifndef TENSORHUB_SERVER_CORE_SOURCE_SELECTION_H_
#define TENSORHUB_SERVER_CORE_SOURCE_SELECTION_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/location.h"
#include "server/core/holder_index.h"

namespace tensorhub::hub {

// Progress counts in steps of this many per shard, so that a chain in motion is not sorted anew
// with every report.
inline constexpr uint32_t kProgressSteps = 32;

// A source that is behind the reader by no more than this is not behind: reports are a tenth
// of a second old and more, neighbours in a chain are closer than that, and to wait costs less than
// to share another source's link.
inline constexpr uint32_t kSlackSteps = 1;

// Steps that are missing to the whole; 0 only with all chunks.
uint32_t StepsMissing(uint32_t valid_chunks, uint32_t chunks);

struct Candidate {
  Serial serial = 0;
  Tier tier = Tier::kRemote;
  bool behind = false;      // has clearly less than the reader has already
  bool slow = false;        // was found to feed its readers slowly, or this reader left it for that
  bool crowded = false;     // has no free place for a reader from there (PlacesFor)
  bool unreliable = false;  // several readers complained lately
  uint32_t uplink = 0;      // kRemote: reads that leave its datacenter, of all shards
  uint32_t readers = 0;     // counted from assignment
  uint32_t steps_missing = 0;
  bool stable = true;
  uint32_t depth = 0;  // through how many it reads (Read::depth)
};

// How many readers a source feeds before others are preferred: `readers_per_source`, and one more
// if that one is on its own host, where it costs the link nothing.
uint32_t PlacesFor(Tier tier, uint32_t readers_per_source);

// Candidates that are alike in what ranks before the tier.
struct SourceClass {
  bool behind = false;
  bool slow = false;
  bool crowded = false;
  uint32_t places = 1;  // what `crowded` is held against
};

// The own datacenter before a remote one: one copy crosses the wide area. Then those ahead of the
// reader, those not known to be slow, and those with a free place: a source that feeds two halves
// the rate of both and of all behind them, which no nearness within a datacenter makes up for. Then
// the nearest tier, those not known to be unreliable; of remote ones the datacenter whose uplink
// carries the fewest reads; the fewest readers, the most progress, stable before spot, the end
// of the shortest chain, and who came first, so that equal inputs give equal choices.
bool IsBetter(const Candidate& a, const Candidate& b);
// For people: the first thing in which the better one is.
std::string_view WhatDecides(const Candidate& better, const Candidate& other);

// Worth leaving another source for.
inline bool IsGood(const Candidate& candidate) {
  return !candidate.behind && !candidate.slow && !candidate.crowded && !candidate.unreliable;
}

std::optional<Candidate> Best(const std::vector<Candidate>& candidates);

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_SOURCE_SELECTION_H_
