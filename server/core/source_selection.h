// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which of several holders a reader is given (R5; docs/architecture.md, "Source selection"): the
// ranking, over plain values. It is written once, in kRanking. From it follow which of two
// candidates is better, the order of the index of holders (holder_index.h), the classes in which
// that is searched, what people are told, and the table in the document, which a test compares.
//
// CheckInvariants holds what is found in the index against the best of all candidates.

#ifndef TENSORHUB_SERVER_CORE_SOURCE_SELECTION_H_
#define TENSORHUB_SERVER_CORE_SOURCE_SELECTION_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/location.h"

namespace tensorhub::hub {

// Numbers the workers' lives in the order in which the hub heard of them. Never reused.
using Serial = uint64_t;

// Progress counts in steps of this many per shard, so that a chain in motion is not sorted anew
// with every report.
inline constexpr uint32_t kProgressSteps = 32;

// A source that is behind the reader by no more than this is not behind: reports are a tenth
// of a second old and more, neighbours in a chain are closer than that, and to wait costs less than
// to share another source's link.
inline constexpr uint32_t kSlackSteps = 1;

// Steps that are missing to the whole; 0 only with all chunks.
uint32_t StepsMissing(uint32_t valid_chunks, uint32_t chunks);

// What counts of a holder, whoever the reader is. Sorted as kRanking says.
struct HolderRank {
  bool slow = false;        // was found to feed its readers slowly
  bool unreliable = false;  // several readers complained lately, or it may be dead
  uint32_t readers = 0;     // counted from assignment
  uint32_t steps_missing = 0;
  bool spot = false;
  uint32_t depth = 0;  // through how many it reads (Read::depth)
  bool operator==(const HolderRank&) const = default;
};

// A holder as one reader sees it. `slow` also if this reader left it for that.
struct Candidate : HolderRank {
  Serial serial = 0;
  Tier tier = Tier::kRemote;
  bool behind = false;   // has clearly less than the reader has already
  bool crowded = false;  // has no free place for a reader from there (SourcePolicy)
  uint32_t uplink = 0;   // kRemote: reads that leave its datacenter, of all shards
};

struct Criterion {
  std::string_view rule;    // as the document has it
  std::string_view better;  // for people: the better one of two
  // Less is better. The first for what does not depend on the reader, else the second.
  uint64_t (*of_holder)(const HolderRank&);
  uint64_t (*of_candidate)(const Candidate&);

  constexpr uint64_t Of(const Candidate& candidate) const {
    return of_holder != nullptr ? of_holder(candidate) : of_candidate(candidate);
  }
};

// The ranking: of two candidates the first criterion in which they differ decides. Why each is
// where it is says the document.
inline constexpr std::array<Criterion, 12> kRanking = {{
    {"own datacenter before remote", "in its datacenter", nullptr,
     [](const Candidate& c) -> uint64_t { return c.tier == Tier::kRemote; }},
    {"not behind the reader (by more than a step of 1/32 of the shard) before behind",
     "has what it lacks", nullptr, [](const Candidate& c) -> uint64_t { return c.behind; }},
    {"not slow before slow", "is not slow", [](const HolderRank& h) -> uint64_t { return h.slow; },
     nullptr},
    {"a free place before none", "has a free place", nullptr,
     [](const Candidate& c) -> uint64_t { return c.crowded; }},
    {"host, rack, datacenter", "is nearer", nullptr,
     [](const Candidate& c) { return static_cast<uint64_t>(c.tier); }},
    {"fewer than two complaints lately, and present, before others", "nobody complains of it",
     [](const HolderRank& h) -> uint64_t { return h.unreliable; }, nullptr},
    {"remote: the datacenter whose uplink carries the fewest reads",
     "fewer reads leave its datacenter", nullptr,
     [](const Candidate& c) -> uint64_t { return c.uplink; }},
    {"fewest readers, counted from assignment", "has fewer readers",
     [](const HolderRank& h) -> uint64_t { return h.readers; }, nullptr},
    {"most progress, in steps of 1/32 of the shard", "has more of it",
     [](const HolderRank& h) -> uint64_t { return h.steps_missing; }, nullptr},
    {"stable before spot", "is stable", [](const HolderRank& h) -> uint64_t { return h.spot; },
     nullptr},
    {"through how few it reads itself", "reads through fewer",
     [](const HolderRank& h) -> uint64_t { return h.depth; }, nullptr},
    {"the worker that came first", "came first", nullptr,
     [](const Candidate& c) { return c.serial; }},
}};

template <size_t... I>
constexpr std::strong_ordering CompareHolders(const HolderRank& a, const HolderRank& b,
                                              std::index_sequence<I...>) {
  std::strong_ordering order = std::strong_ordering::equal;
  const auto differ = [&](const Criterion& by) {
    if (by.of_holder != nullptr) order = by.of_holder(a) <=> by.of_holder(b);
    return order != 0;
  };
  static_cast<void>((differ(kRanking[I]) || ...));
  return order;
}

constexpr std::strong_ordering operator<=>(const HolderRank& a, const HolderRank& b) {
  return CompareHolders(a, b, std::make_index_sequence<kRanking.size()>());
}

constexpr bool IsBetter(const Candidate& a, const Candidate& b) {
  for (const Criterion& by : kRanking) {
    if (by.Of(a) != by.Of(b)) return by.Of(a) < by.Of(b);
  }
  return false;
}

// For people: the first thing in which the better one is. Requires: they are two.
std::string_view WhatDecides(const Candidate& better, const Candidate& other);

// Worth leaving another source for.
inline bool IsGood(const Candidate& candidate) {
  return !candidate.behind && !candidate.slow && !candidate.crowded && !candidate.unreliable;
}

std::optional<Candidate> Best(const std::vector<Candidate>& candidates);

// Candidates that are alike in what ranks before what the index of holders is sorted by.
struct SourceClass {
  bool behind = false;
  bool slow = false;
  bool crowded = false;
  Tier tier = Tier::kHost;
};

// All classes, the best first. So the first in which there is a holder has the best of all.
const std::array<SourceClass, 32>& ClassesInOrder();

// What the ranking leaves to the hub's options.
class SourcePolicy {
 public:
  explicit SourcePolicy(uint32_t readers_per_source) : readers_per_source_(readers_per_source) {}

  // How many readers a source feeds before others are preferred: `readers_per_source`, and one
  // more if that one is on its own host, where it costs the link nothing.
  uint32_t PlacesFor(Tier tier) const {
    return tier == Tier::kHost ? readers_per_source_ + 1 : readers_per_source_;
  }
  bool IsCrowded(Tier tier, uint32_t readers) const { return readers >= PlacesFor(tier); }
  // Has the shard whole, is no worse than others, and has a free place for anybody.
  bool IsFree(const std::optional<HolderRank>& rank) const;
  // Where the index of holders goes on if one of this rank is not of the class for a reader that
  // allows a source to miss so many steps. None: it is of the class.
  std::optional<HolderRank> SkipTo(const HolderRank& rank, const SourceClass& wanted,
                                   uint32_t steps_allowed) const;

 private:
  uint32_t readers_per_source_;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_SOURCE_SELECTION_H_
