// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R5: readers of a group that cuts the model in another way than its publishers (conversions.cc).
//
// Such a rank reads its own shard, of its group's sharding, from whoever has that. Where nobody
// near has it, each shard of the origin that it needs a part of feeds one stream of it. The origin
// is the published sharding, or, where that has lost a shard, another that has everything
// (Publication::origin): so trainers that come back read from rollouts. The rank serves its own
// shard from its first chunk on, like any reader, so that the next group follows it.
//
// No cycle can come of it. Who reads parts follows only those that read from nobody, or that read a
// published shard. From there a cycle would have to come back to another sharding, by a reader of
// a published shard that brings parts of one; and that follows only those that read from nobody.

#include <algorithm>
#include <utility>
#include <vector>

#include "server/core/read_graph.h"
#include "server/core/source_selection.h"

namespace tensorhub::hub {
namespace {

// Holders of a place that are looked at: most will do, some are excluded or do not know streams.
constexpr size_t kPartHoldersMax = 256;

SourceSharding PartsFor(const Worker& reader) {
  const Read& read = *reader.read;
  const Sharding& origin = *read.origin;
  SourceSharding parts{read.transaction, read.plan, origin.world_size, origin.chunk_bytes, {}};
  const PartsByRank& by_rank = reader.reference->sharding->parts.at(origin.id);
  for (const ReadPart& part : by_rank[reader.id.key.rank]) {
    parts.parts.push_back({part.rank, origin.shards.at(part.rank).layout});
  }
  return parts;
}

}  // namespace

// R5: one that reads is followed only down from a converted sharding to the published one. It has
// begun, so that its buffers are those that it is listed with.
bool MayFeedParts(const Worker& source, const Worker& reader) {
  if (!source.knows_streams || !source.reference) return false;
  if (source.reference->state == ReferenceState::kComplete) return true;
  return source.reference->state == ReferenceState::kFilling &&
         source.reference->valid_chunks > 0 && !source.reference->sharding->id &&
         reader.reference->sharding->id;
}

// What a reader needs of the origin, where it is not the one that was asked about when its group
// joined; R8: or that was in an earlier life of the hub. True: it will be known.
bool ReadGraph::LearnParts(Worker& reader) {
  Sharding& sharding = *reader.reference->sharding;
  const Sharding& origin = PublicationOf(reader).origin();
  if (&origin == &sharding || sharding.parts.contains(origin.id) || turn_.recovering())
    return false;
  if (!reader.knows_resharding) return false;
  // All ranks have to be known, of both.
  if (sharding.shards.size() != sharding.world_size || origin.world_size == 0) return false;
  if (origin.shards.size() != origin.world_size) return false;
  const PlanWanted wanted = PlanOf(LayoutsOf(origin), LayoutsOf(sharding));
  // R9: a worker reported it under the id of another one.
  if (sharding.id && wanted.plan.to != sharding.id) return false;
  if (!plans_.HaveLayouts(wanted.from) || !plans_.HaveLayouts(wanted.to)) return true;
  const KnownPlan& plan = plans_.Get(wanted, turn_.effects());
  if (plan.made && plan.status.ok()) TakePlan(plan, origin, sharding);
  return !plan.made;
}

// Feeds a reader that nobody feeds, from holders of other shards than its own. All parts, or none.
bool ReadGraph::AssignParts(Worker& reader, Tier farthest) {
  const Sharding& sharding = *reader.reference->sharding;
  Publication& publication = PublicationOf(reader);
  Sharding& origin = *FindSharding(publication, publication.origin().id);
  const auto parts = sharding.parts.find(origin.id);
  if (turn_.recovering() || parts == sharding.parts.end() || !reader.knows_resharding) return false;
  FlushIndex(&reader);
  std::vector<std::pair<Shard*, Worker*>> sources;
  for (const ReadPart& part : parts->second[reader.id.key.rank]) {
    const auto from = origin.shards.find(part.rank);
    if (from == origin.shards.end()) return false;
    Worker* source = SourceOfPart(reader, from->second, farthest);
    if (source == nullptr) return false;
    sources.emplace_back(&from->second, source);
  }
  Divide(reader, sources.size(), /*ranges=*/true);
  reader.read->origin = &origin;
  for (size_t i = 0; i < sources.size(); ++i) {
    reader.read->streams[i].from = sources[i].first;
  }
  SendParts(reader);
  for (size_t i = 0; i < sources.size(); ++i) {
    Feed(reader, reader.read->streams[i], *sources[i].second);
  }
  return true;
}

// The sharding that it reads of, its own or another, has lost a shard, or is about to, and another
// has everything.
bool ReadGraph::AssignPartsAnew(Worker& reader) {
  const Sharding& origin = PublicationOf(reader).origin();
  if (!origin.whole() || reader.read->origin == &origin || &origin == reader.reference->sharding) {
    return false;
  }
  LearnParts(reader);
  return AssignParts(reader, Tier::kRemote);
}

// Before any assignment of the plan, in each session.
void ReadGraph::SendParts(Worker& reader) { turn_.Send(reader, PartsFor(reader)); }

// The best of those that may feed a part of that shard.
Worker* ReadGraph::SourceOfPart(const Worker& reader, const Shard& from, Tier farthest) const {
  std::vector<Candidate> found;
  const auto look = [&](const Scope* scope) {
    if (scope == nullptr) return;
    for (const bool whole : {true, false}) {
      const Worker* source = FirstForPart(*scope, reader, whole);
      if (source != nullptr) found.push_back(CandidateOf(*source, reader));
    }
  };
  for (const Tier tier : {Tier::kHost, Tier::kRack, Tier::kDatacenter}) {
    look(from.index.FindScope(reader.place, tier));
  }
  if (found.empty() && farthest == Tier::kRemote) {
    for (const auto& [datacenter, site] : from.index.sites()) look(&site.all);
  }
  const std::optional<Candidate> best = Best(found);
  return best ? roster_.FindRow(best->serial) : nullptr;
}

// In the index's order, of those that have the whole shard, or of those that still read it.
const Worker* ReadGraph::FirstForPart(const Scope& scope, const Worker& reader, bool whole) const {
  auto it = scope.holders.begin();
  for (size_t looked = 0; it != scope.holders.end() && looked < kPartHoldersMax; ++looked) {
    const HolderRank& rank = it->rank;
    if (whole != (rank.steps_missing == 0)) {
      const HolderRank next = whole ? HolderRank{rank.slow, rank.unreliable, rank.readers + 1}
                                    : HolderRank{rank.slow, rank.unreliable, rank.readers, 1};
      it = scope.holders.lower_bound(Holder{next});
      continue;
    }
    const Worker& source = *it++->worker;
    if (MayFeedParts(source, reader) && MayServe(source, reader)) return &source;
  }
  return nullptr;
}

// A stream's part that nobody can bring now. The others go on meanwhile.
void ReadGraph::AwaitPart(Worker& reader, Stream& stream) {
  if (AssignSource(reader)) return;
  if (ReadmitOnce(reader, Tier::kRemote) && FeedElsewhere(reader, stream)) return;
  if (AssignPartsAnew(reader)) return;
  const bool awaits_plan = LearnParts(reader);
  PublicationOf(reader).awaiting.insert(&reader);
  if (!awaits_plan && !HopesForAnswer(reader)) GiveUpRead(reader);
}

// For which it has no source: its own, or the first that it needs a part of.
std::pair<Rank, const Shard*> ReadGraph::ShardLacked(const Worker& reader) const {
  const Sharding& own = *reader.reference->sharding;
  const std::pair<Rank, const Shard*> whole{reader.id.key.rank, reader.reference->shard};
  const Sharding& origin = PublicationOf(reader).origin();
  const auto parts = own.parts.find(origin.id);
  if (parts == own.parts.end()) return whole;
  for (const ReadPart& part : parts->second[reader.id.key.rank]) {
    const auto from = origin.shards.find(part.rank);
    if (from == origin.shards.end()) continue;
    if (SourceOfPart(reader, from->second, Tier::kRemote) == nullptr) {
      return {part.rank, &from->second};
    }
  }
  return whole;
}

}  // namespace tensorhub::hub
