// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R5: which holder a reader is given. The ranking, and the classes that follow from it, are in
// source_selection.h; here the best holder is found in the shard's index, class by class, without
// looking at the others.

#include <algorithm>
#include <utility>
#include <vector>

#include "server/core/read_graph.h"
#include "server/core/source_selection.h"

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

HolderRank RankOf(const Worker& source) {
  HolderRank rank;
  rank.slow = source.slow;
  rank.unreliable = IsUnreliable(source);
  rank.readers = Occupied(*source.reference);
  rank.steps_missing = StepsOf(*source.reference);
  rank.spot = !source.stable;
  rank.depth = DepthOf(source);
  return rank;
}

// What a source may miss without being behind. Everybody passes a slow reader soon, so that one may
// follow anybody.
uint32_t StepsAllowed(const Worker& reader) {
  return reader.slow ? kProgressSteps : StepsOf(*reader.reference) + kSlackSteps;
}

bool IsBehind(const Worker& source, const Worker& reader) {
  return StepsOf(*source.reference) > StepsAllowed(reader);
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
bool ReadGraph::MayServe(const Worker& source, const Worker& reader) const {
  if (!source.alive || !source.reference || &source == &reader) return false;
  if (source.reference->publication != reader.read->publication || !Serves(source)) return false;
  if (reader.read->excluded.empty()) return true;
  const auto exclusion = reader.read->excluded.find(source.id);
  return exclusion == reader.read->excluded.end() ||
         exclusion->second.state == Exclusion::State::kReadmitted;
}

bool ReadGraph::MayServeWhole(const Worker& source, const Worker& reader) const {
  return MayServe(source, reader) && source.reference->shard == reader.reference->shard;
}

IndexEntry ReadGraph::EntryOf(const Worker& worker) const {
  IndexEntry entry;
  const Reference& reference = *worker.reference;
  const bool reads = Reads(worker) && reference.state == ReferenceState::kFilling;
  if (reads) {
    entry.fed_from = IsFed(worker) ? FarthestTier(worker) : Tier::kRemote;
  }
  entry.unfed = !reads;
  if (!Serves(worker)) return entry;
  entry.rank = RankOf(worker);
  return entry;
}

void ReadGraph::MarkIndexStale(Worker& worker) {
  if (!std::exchange(worker.stale, true)) index_stale_.push_back(&worker);
}

void ReadGraph::FlushIndex() { FlushIndex(orphans_.empty() ? nullptr : orphans_.begin()->reader); }

// A reader that lost its source is spared, since it is about to be given another one, after which
// its entry is the same again. Nobody but itself may be choosing meanwhile.
void ReadGraph::FlushIndex(const Worker* except) {
  Worker* spared = nullptr;
  for (Worker* worker : index_stale_)
    worker == except ? void(spared = worker) : FlushIndex(*worker);
  index_stale_.clear();
  if (spared != nullptr) index_stale_.push_back(spared);
}

void ReadGraph::FlushIndex(Worker& worker) {
  worker.stale = false;
  if (!worker.reference) return;
  const IndexEntry now = EntryOf(worker);
  if (now == worker.listed) return;
  Shard& shard = *worker.reference->shard;
  const bool new_source = now.rank && !worker.listed.rank;
  const bool was_free = policy_.IsFree(worker.listed.rank);
  if (policy_.IsFree(now.rank) && !was_free) free_.insert(worker.serial);
  shard.index.Update(worker, worker.listed, now);
  worker.listed = now;
  if (!new_source) return;
  WakeWaiting(shard.waiting);
  WakeWaiting(PublicationOf(worker).awaiting);
}

Candidate ReadGraph::CandidateOf(const Worker& source, const Worker& reader) const {
  Candidate candidate;
  static_cast<HolderRank&>(candidate) = RankOf(source);
  candidate.serial = source.serial;
  candidate.tier = TierBetween(source.location, reader.location);
  candidate.behind = IsBehind(source, reader);
  candidate.slow |= Shuns(reader, source);
  if (candidate.tier == Tier::kRemote) {
    const auto uplink = uplinks_.find(source.place.datacenter);
    candidate.uplink = uplink == uplinks_.end() ? 0 : uplink->second;
  }
  candidate.crowded = policy_.IsCrowded(candidate.tier, candidate.readers);
  return candidate;
}

// The definition, for CheckInvariants.
std::optional<Candidate> ReadGraph::ChooseByLookingAtAll(const Worker& reader) const {
  std::vector<Candidate> candidates;
  for (const auto& [serial, source] : reader.reference->shard->holders) {
    if (!MayServe(*source, reader) || source->node.IsBelow(reader.node)) continue;
    candidates.push_back(CandidateOf(*source, reader));
  }
  return Best(candidates);
}

// R8: while recovering there may be nobody whom it is safe to follow yet.
std::optional<Candidate> ReadGraph::Choose(const Worker& reader) {
  FlushIndex(&reader);
  const std::optional<Candidate> best = ChooseByIndex(reader);
  if (best && turn_.recovering() && !LeadsToWhole(*roster_.FindRow(best->serial)))
    return std::nullopt;
  return best;
}

// R5: whoever is fed, in the end, by one whose own source has not reported may read from anybody.
// The sources of a divided read are complete.
bool ReadGraph::LeadsToWhole(const Worker& source) const {
  const Worker* first = &source;
  while (IsFedWhole(*first)) first = &SourceOf(*first);
  return IsFed(*first) || !Reads(*first);
}

// The first class in which there is somebody has the best of all.
std::optional<Candidate> ReadGraph::ChooseByIndex(const Worker& reader) const {
  const Shard& shard = *reader.reference->shard;
  const Site* site = shard.index.FindSite(reader.place);
  const bool any_here = site != nullptr && AnyElsewhere(*site, reader);
  for (const SourceClass& wanted : ClassesInOrder()) {
    if (wanted.tier != Tier::kRemote && !any_here) continue;
    std::vector<Candidate> found;
    if (wanted.slow) found = ThoseLeft(reader, wanted);
    wanted.tier == Tier::kRemote ? AddRemote(reader, shard, wanted, found)
                                 : AddLocal(reader, shard, wanted, found);
    if (auto best = Best(found)) return best;
  }
  return std::nullopt;
}

void ReadGraph::AddLocal(const Worker& reader, const Shard& shard, const SourceClass& wanted,
                         std::vector<Candidate>& found) const {
  const Scope* scope = shard.index.FindScope(reader.place, wanted.tier);
  const Worker* first = scope == nullptr ? nullptr : FirstIn(*scope, reader, wanted);
  if (first != nullptr) found.push_back(CandidateOf(*first, reader));
}

void ReadGraph::AddRemote(const Worker& reader, const Shard& shard, const SourceClass& wanted,
                          std::vector<Candidate>& found) const {
  for (const auto& [datacenter, site] : shard.index.sites()) {
    if (datacenter == reader.place.datacenter || !AnyElsewhere(site, reader)) continue;
    const Worker* first = FirstIn(site.all, reader, wanted);
    if (first != nullptr) found.push_back(CandidateOf(*first, reader));
  }
}

// Sources that this reader left because they were slow are not where the index has them.
std::vector<Candidate> ReadGraph::ThoseLeft(const Worker& reader, const SourceClass& wanted) const {
  std::vector<Candidate> found;
  if (reader.slow) return found;
  for (const WorkerIdentity& id : reader.read->whole().left) {
    const Worker* source = roster_.FindWorker(id.key);
    if (source == nullptr || source->id != id || !MayServe(*source, reader)) continue;
    const Candidate candidate = CandidateOf(*source, reader);
    if (candidate.tier != wanted.tier || candidate.behind != wanted.behind) continue;
    if (candidate.crowded != wanted.crowded) continue;
    if (!source->node.IsBelow(reader.node)) found.push_back(candidate);
  }
  return found;
}

// Whether the place has a holder that is not below the reader. Everybody in it is fed through one
// of its inlets or by one who does not read; so there is no need to ask them all.
bool ReadGraph::AnyElsewhere(const Site& site, const Worker& reader) const {
  if (reader.reference->readers.empty() || site.unfed > 0) return true;
  const auto& inlets = site.all.inlets;
  return std::any_of(inlets.begin(), inlets.end(), [&](const Worker* inlet) {
    return inlet != &reader && !inlet->node.IsBelow(reader.node);
  });
}

const Worker* ReadGraph::FirstIn(const Scope& scope, const Worker& reader,
                                 const SourceClass& wanted) const {
  return FirstOf(scope, policy_, wanted, StepsAllowed(reader), [&](const Worker& source) {
    return IsBehind(source, reader) == wanted.behind && !Shuns(reader, source) &&
           MayServe(source, reader) && !source.node.IsBelow(reader.node);
  });
}

}  // namespace tensorhub::hub
