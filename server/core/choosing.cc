// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R5: which holder a reader is given. The ranking is in source_selection.h; here the best holder is
// found in the shard's index, class by class, without looking at the others.

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "server/core/source_selection.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

// A reader that is slow itself has no reason to shun those that it left.
bool Shuns(const Worker& reader, const Worker& source) {
  return !reader.slow && reader.read->whole().left.contains(source.id);
}

bool IsUnreliable(const Worker& source) {
  return source.absent || source.complainers.size() >= kUnreliableFrom;
}

uint32_t StepsOf(const Reference& reference) {
  if (reference.state == ReferenceState::kComplete) return 0;
  if (!reference.shard->chunks) return kProgressSteps;
  return StepsMissing(reference.valid_chunks, *reference.shard->chunks);
}

uint32_t DepthOf(const Worker& source) {
  return Reads(source) && source.reference->state == ReferenceState::kFilling ? source.read->depth
                                                                              : 0;
}

// What a source may miss without being behind. Everybody passes a slow reader soon, so that one may
// follow anybody.
uint32_t StepsAllowed(const Worker& reader) {
  return reader.slow ? kProgressSteps : StepsOf(*reader.reference) + kSlackSteps;
}

bool IsBehind(const Worker& source, const Worker& reader) {
  return StepsOf(*source.reference) > StepsAllowed(reader);
}

// In the order of IsBetter.
constexpr struct {
  bool slow;
  bool crowded;
} kClasses[] = {{false, false}, {false, true}, {true, false}, {true, true}};

// Where the index goes on if a holder of this rank is not of the class: it is sorted by count of
// readers, and within equal counts by progress, so that those that are crowded (or not), and behind
// (or ahead), are skipped together.
std::optional<HolderRank> SkipTo(const HolderRank& rank, const SourceClass& wanted,
                                 uint32_t steps_allowed) {
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  HolderRank next{rank.slow, rank.unreliable, rank.readers, 0, false, 0};
  const bool crowded = rank.readers >= wanted.places;
  if (crowded && !wanted.crowded) {
    next.unreliable = true;
    next.readers = rank.unreliable ? kNone : 0;
    return next;
  }
  if (!crowded && wanted.crowded) {
    next.readers = wanted.places;
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

// The farthest of a reader's sources. Holders of other shards are in none of its own shard's
// places.
Tier FarthestTier(const Worker& reader) {
  Tier farthest = Tier::kHost;
  for (const Stream& stream : reader.read->streams) {
    if (stream.current == 0) continue;
    if (stream.from != nullptr) return Tier::kRemote;
    farthest = std::max(farthest, reader.read->assignments.at(stream.current).tier);
  }
  return farthest;
}

// A filling holder without a source of its own goes nowhere.
bool Serves(const Worker& source) {
  if (StepsAside(source)) return false;
  if (source.reference->state == ReferenceState::kComplete) return true;
  if (source.reference->state != ReferenceState::kFilling) return false;
  return !source.read || HasSource(*source.read);
}

}  // namespace

// R1: within one publication only. R8: not what this reader complained about.
bool Hub::State::MayServe(const Worker& source, const Worker& reader) const {
  if (!source.alive || !source.reference || &source == &reader) return false;
  if (source.reference->publication != reader.read->publication || !Serves(source)) return false;
  if (reader.read->barred.empty()) return true;
  const auto bar = reader.read->barred.find(source.id);
  return bar == reader.read->barred.end() || bar->second.state == Bar::State::kPardoned;
}

IndexEntry Hub::State::EntryOf(const Worker& worker) const {
  IndexEntry entry;
  const Reference& reference = *worker.reference;
  const bool reads = Reads(worker) && reference.state == ReferenceState::kFilling;
  if (reads) {
    entry.fed_from = IsFed(worker) ? FarthestTier(worker) : Tier::kRemote;
  }
  entry.unfed = !reads;
  if (!Serves(worker)) return entry;
  HolderRank rank;
  rank.slow = worker.slow;
  rank.unreliable = IsUnreliable(worker);
  rank.readers = Occupied(reference);
  rank.steps_missing = StepsOf(reference);
  rank.spot = !worker.stable;
  rank.depth = DepthOf(worker);
  entry.rank = rank;
  return entry;
}

// To be called whenever something changed that EntryOf looks at. The index follows when it is
// asked.
void Hub::State::Relist(Worker& worker) {
  if (!std::exchange(worker.stale, true)) stale_.push_back(&worker);
}

// A reader that lost its source is spared, since it is about to be given another one, after which
// its entry is the same again. Nobody but itself may be choosing meanwhile.
void Hub::State::Refresh(const Worker* except) {
  Worker* spared = nullptr;
  for (Worker* worker : stale_) worker == except ? void(spared = worker) : Refresh(*worker);
  stale_.clear();
  if (spared != nullptr) stale_.push_back(spared);
}

void Hub::State::Refresh(Worker& worker) {
  worker.stale = false;
  if (!worker.reference) return;
  const IndexEntry now = EntryOf(worker);
  if (now == worker.listed) return;
  Shard& shard = *worker.reference->shard;
  const bool new_source = now.rank && !worker.listed.rank;
  const uint32_t places = options_.readers_per_source;
  if (IsFree(now, places) && !IsFree(worker.listed, places)) free_.insert(worker.serial);
  shard.index.Update(worker, worker.listed, now);
  worker.listed = now;
  if (!new_source) return;
  WakeWaiting(shard.waiting);
  WakeWaiting(PublicationOf(worker).awaiting);
}

Candidate Hub::State::CandidateOf(const Worker& source, const Worker& reader) const {
  Candidate candidate;
  candidate.serial = source.serial;
  candidate.tier = TierBetween(source.location, reader.location);
  candidate.behind = IsBehind(source, reader);
  candidate.slow = source.slow || Shuns(reader, source);
  candidate.unreliable = IsUnreliable(source);
  if (candidate.tier == Tier::kRemote) {
    const auto uplink = uplinks_.find(source.place.datacenter);
    candidate.uplink = uplink == uplinks_.end() ? 0 : uplink->second;
  }
  candidate.readers = Occupied(*source.reference);
  candidate.crowded = candidate.readers >= PlacesFor(candidate.tier, options_.readers_per_source);
  candidate.steps_missing = StepsOf(*source.reference);
  candidate.stable = source.stable;
  candidate.depth = DepthOf(source);
  return candidate;
}

// The definition, for CheckInvariants.
std::optional<Candidate> Hub::State::ChooseByLookingAtAll(const Worker& reader) const {
  std::vector<Candidate> candidates;
  for (const auto& [serial, source] : reader.reference->shard->holders) {
    if (!MayServe(*source, reader) || source->node.IsBelow(reader.node)) continue;
    candidates.push_back(CandidateOf(*source, reader));
  }
  return Best(candidates);
}

// R8: while recovering there may be nobody whom it is safe to follow yet.
std::optional<Candidate> Hub::State::Choose(const Worker& reader) {
  Refresh(&reader);
  const std::optional<Candidate> best = ChooseByIndex(reader);
  if (best && recovering_ && !LeadsToWhole(*FindRow(best->serial))) return std::nullopt;
  return best;
}

// R5: whoever is fed, in the end, by one whose own source has not reported may read from anybody.
// The sources of a divided read are complete.
bool Hub::State::LeadsToWhole(const Worker& source) const {
  const Worker* first = &source;
  while (IsFedWhole(*first)) first = &SourceOf(*first);
  return IsFed(*first) || !Reads(*first);
}

// In the order of IsBetter: the first class in which there is somebody has the best of all.
std::optional<Candidate> Hub::State::ChooseByIndex(const Worker& reader) const {
  const Shard& shard = *reader.reference->shard;
  for (const bool behind : {false, true}) {
    if (auto best = ChooseLocal(reader, shard, behind)) return best;
  }
  for (const bool behind : {false, true}) {
    if (auto best = ChooseRemote(reader, shard, behind)) return best;
  }
  return std::nullopt;
}

std::optional<Candidate> Hub::State::ChooseLocal(const Worker& reader, const Shard& shard,
                                                 bool behind) const {
  const Site* site = shard.index.FindSite(reader.place);
  if (site == nullptr || !AnyElsewhere(*site, reader)) return std::nullopt;
  for (const auto& [slow, crowded] : kClasses) {
    for (const Tier tier : {Tier::kHost, Tier::kRack, Tier::kDatacenter}) {
      const SourceClass wanted{behind, slow, crowded, PlacesFor(tier, options_.readers_per_source)};
      std::vector<Candidate> found;
      if (slow) found = ThoseLeft(reader, tier, wanted);
      const Scope* scope = shard.index.FindScope(reader.place, tier);
      const Worker* first = scope == nullptr ? nullptr : FirstOf(*scope, reader, wanted);
      if (first != nullptr) found.push_back(CandidateOf(*first, reader));
      if (auto best = Best(found)) return best;
    }
  }
  return std::nullopt;
}

std::optional<Candidate> Hub::State::ChooseRemote(const Worker& reader, const Shard& shard,
                                                  bool behind) const {
  for (const auto& [slow, crowded] : kClasses) {
    const SourceClass wanted{behind, slow, crowded,
                             PlacesFor(Tier::kRemote, options_.readers_per_source)};
    std::vector<Candidate> found;
    if (slow) found = ThoseLeft(reader, Tier::kRemote, wanted);
    for (const auto& [datacenter, site] : shard.index.sites()) {
      if (datacenter == reader.place.datacenter || !AnyElsewhere(site, reader)) continue;
      const Worker* first = FirstOf(site.all, reader, wanted);
      if (first != nullptr) found.push_back(CandidateOf(*first, reader));
    }
    if (auto best = Best(found)) return best;
  }
  return std::nullopt;
}

// Sources that this reader left because they were slow are not where the index has them.
std::vector<Candidate> Hub::State::ThoseLeft(const Worker& reader, Tier tier,
                                             const SourceClass& wanted) const {
  std::vector<Candidate> found;
  if (reader.slow) return found;
  for (const WorkerIdentity& id : reader.read->whole().left) {
    const Worker* source = FindWorker(id.key);
    if (source == nullptr || source->id != id || !MayServe(*source, reader)) continue;
    const Candidate candidate = CandidateOf(*source, reader);
    if (candidate.tier != tier || candidate.behind != wanted.behind) continue;
    if (candidate.crowded != wanted.crowded) continue;
    if (!source->node.IsBelow(reader.node)) found.push_back(candidate);
  }
  return found;
}

// Whether the place has a holder that is not below the reader. Everybody in it is fed through one
// of its inlets or by one who does not read; so there is no need to ask them all.
bool Hub::State::AnyElsewhere(const Site& site, const Worker& reader) const {
  if (reader.reference->readers.empty() || site.unfed > 0) return true;
  const auto& inlets = site.all.inlets;
  return std::any_of(inlets.begin(), inlets.end(), [&](const Worker* inlet) {
    return inlet != &reader && !inlet->node.IsBelow(reader.node);
  });
}

// The first holder of one class, in the index's order.
const Worker* Hub::State::FirstOf(const Scope& scope, const Worker& reader,
                                  const SourceClass& wanted) const {
  const uint32_t allowed = StepsAllowed(reader);
  auto it = scope.holders.lower_bound(Holder{{wanted.slow}});
  while (it != scope.holders.end() && it->rank.slow == wanted.slow) {
    if (const auto next = SkipTo(it->rank, wanted, allowed)) {
      it = scope.holders.lower_bound(Holder{*next});
      continue;
    }
    const Worker& source = *it->worker;
    if (IsBehind(source, reader) == wanted.behind && !Shuns(reader, source) &&
        MayServe(source, reader) && !source.node.IsBelow(reader.node)) {
      return &source;
    }
    ++it;
  }
  return nullptr;
}

}  // namespace tensorhub::hub
