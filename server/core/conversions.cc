// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R6: groups that cut the model in another way than its publishers. When all ranks have joined it
// is known which shards each of them needs, or why the group cannot read this version, before
// anybody has given up what it holds. The planner says so (common/read_plan.h), outside of the hub.
//
// R5: such a rank reads its own shard, of its group's sharding, from whoever has that. Where nobody
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

#include "absl/strings/str_cat.h"
#include "common/chunking.h"
#include "server/core/source_selection.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

// Holders of a place that are looked at: most will do, some are barred or do not know streams.
constexpr size_t kLookedAtMax = 256;

std::vector<Fingerprint> LayoutsOf(const Group& group) {
  std::vector<Fingerprint> layouts;
  for (const auto& [rank, join] : group.forming) layouts.push_back(join.layout);
  return layouts;
}

// Layouts by rank; fewer than its ranks while some are not known.
std::vector<Fingerprint> LayoutsOf(const Sharding& sharding) {
  std::vector<Fingerprint> layouts;
  for (const auto& [rank, shard] : sharding.shards) layouts.push_back(shard.layout);
  return layouts;
}

// R9: what workers reported under that id may be something else.
bool IsCutAs(const Sharding& sharding, const Group& group) {
  if (sharding.world_size != group.forming.size()) return false;
  return std::all_of(group.forming.begin(), group.forming.end(), [&](const auto& join) {
    const auto shard = sharding.shards.find(join.first);
    return shard == sharding.shards.end() || shard->second.layout == join.second.layout;
  });
}

// R9: what it says of a sharding counts more than workers' words. The published one has everything.
void Take(const KnownPlan& plan, const Sharding& origin, Sharding& sharding) {
  sharding.parts[origin.id] = plan.parts;
  if (sharding.id) sharding.full = plan.full;
}

PlanWanted PlanOf(std::vector<Fingerprint> from, std::vector<Fingerprint> to) {
  return {{IdOfSharding(from), IdOfSharding(to)}, std::move(from), std::move(to)};
}

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

bool Hub::State::HaveLayouts(const std::vector<Fingerprint>& layouts) {
  const bool have = std::all_of(layouts.begin(), layouts.end(), [&](const Fingerprint& layout) {
    return documents_.HasLayout(layout);
  });
  plans_lack_layouts_ |= !have;
  return have;
}

// R6: by which sharding the group, whose ranks have all joined, reads this. Null: the planner has
// yet to say whether it can.
absl::StatusOr<Sharding*> Hub::State::ShardingFor(const GroupKey& key, const Group& group,
                                                  Publication& publication) {
  const Sharding& origin = publication.origin();
  std::vector<Fingerprint> from = LayoutsOf(origin);
  std::vector<Fingerprint> to = LayoutsOf(group);
  if (to == from) return FindSharding(publication, origin.id);
  const bool all_know = std::all_of(group.forming.begin(), group.forming.end(), [&](auto& join) {
    const Worker* worker = FindWorker({key.model, key.group, join.first});
    return worker != nullptr && worker->knows_resharding;
  });
  if (!all_know) return CheckShards(group, publication, origin);
  // Not all of its ranks may be known, and those that are may be alike.
  const Sharding& published = publication.published;
  const bool as_published = to.size() == published.world_size && to == LayoutsOf(published);
  const PlanWanted wanted = PlanOf(std::move(from), std::move(to));
  const ShardingId id = as_published ? ShardingId{} : wanted.plan.to;
  Sharding* known = FindSharding(publication, id);
  if (known != nullptr && known->parts.contains(origin.id)) return known;
  if (!HaveLayouts(wanted.from)) return nullptr;
  const KnownPlan& plan = plans_.Get(wanted, *out_);
  if (!plan.made) return nullptr;
  if (!plan.status.ok()) {
    return absl::Status(plan.status.code(),
                        absl::StrCat("version ", publication.version, " of ", publication.model,
                                     " cannot be read as ", key.group,
                                     " cuts it: ", std::string(plan.status.message())));
  }
  absl::StatusOr<Sharding*> sharding = Convert(publication, id, group);
  if (sharding.ok()) Take(plan, origin, **sharding);
  return sharding;
}

void Hub::State::On(const PlanMade& event) {
  if (!plans_.Learn(event)) return;
  RetryPlans();
  plans_.ForgetFailure(event);
}

// Tries again for groups that may have waited for a plan, and readers that did, be it beside a
// source that drains.
void Hub::State::RetryPlans() {
  plans_lack_layouts_ = false;
  std::vector<GroupKey> forming;
  for (const auto& [key, group] : groups_) {
    if (!group.forming.empty()) forming.push_back(key);
  }
  for (const GroupKey& key : forming) Resolve(key, groups_.at(key));
  for (const auto& [name, model] : models_) {
    for (const auto& [id, publication] : model.publications) {
      WakeWaiting(publication.awaiting);
      RetryAllRedirects(publication);
    }
  }
}

// What a reader needs of the origin, where it is not the one that was asked about when its group
// joined; R8: or that was in an earlier life of the hub. True: it will be known.
bool Hub::State::LearnParts(Worker& reader) {
  Sharding& sharding = *reader.reference->sharding;
  const Sharding& origin = PublicationOf(reader).origin();
  if (&origin == &sharding || sharding.parts.contains(origin.id) || recovering_) return false;
  if (!reader.knows_resharding) return false;
  // All ranks have to be known, of both.
  if (sharding.shards.size() != sharding.world_size || origin.world_size == 0) return false;
  if (origin.shards.size() != origin.world_size) return false;
  const PlanWanted wanted = PlanOf(LayoutsOf(origin), LayoutsOf(sharding));
  // R9: a worker reported it under the id of another one.
  if (sharding.id && wanted.plan.to != sharding.id) return false;
  if (!HaveLayouts(wanted.from) || !HaveLayouts(wanted.to)) return true;
  const KnownPlan& plan = plans_.Get(wanted, *out_);
  if (plan.made && plan.status.ok()) Take(plan, origin, sharding);
  return !plan.made;
}

// The sharding's shards are there from now on, whoever comes to hold them. R8: of one that is known
// from reports, not all were.
absl::StatusOr<Sharding*> Hub::State::Convert(Publication& publication, const ShardingId& id,
                                              const Group& group) {
  const Sharding* known = FindSharding(publication, id);
  if (known != nullptr && known->world_size != 0 && !IsCutAs(*known, group)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", publication.version, " of ", publication.model,
        " is held by a worker that says another cut of it than its own; fetch a later ",
        "version"));
  }
  if (publication.converted.size() >= kConvertedMax && known == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("version ", publication.version, " of ", publication.model, " is held in ",
                     kConvertedMax, " other shardings already; fetch a later version"));
  }
  Sharding& sharding = id ? publication.converted[id] : publication.published;
  sharding.id = id;
  sharding.world_size = static_cast<uint32_t>(group.forming.size());
  uint64_t largest = 0;
  for (const auto& [rank, join] : group.forming) {
    largest = std::max(largest, documents_.FindLayout(join.layout)->total_bytes());
  }
  if (sharding.chunk_bytes == 0) sharding.chunk_bytes = DefaultChunkBytes(largest);
  const Fingerprint attachment = publication.origin().shards.at(0).attachment;
  for (const auto& [rank, join] : group.forming) {
    EnsureShard(sharding, rank, join.layout, attachment);
  }
  return &sharding;
}

// Feeds a reader that nobody feeds, from holders of other shards than its own. All parts, or none.
bool Hub::State::AssignParts(Worker& reader, Tier farthest) {
  const Sharding& sharding = *reader.reference->sharding;
  Publication& publication = PublicationOf(reader);
  Sharding& origin = *FindSharding(publication, publication.origin().id);
  const auto parts = sharding.parts.find(origin.id);
  if (recovering_ || parts == sharding.parts.end() || !reader.knows_resharding) return false;
  Refresh(&reader);
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
bool Hub::State::AssignPartsAnew(Worker& reader) {
  const Sharding& origin = PublicationOf(reader).origin();
  if (!origin.whole() || reader.read->origin == &origin || &origin == reader.reference->sharding) {
    return false;
  }
  LearnParts(reader);
  return AssignParts(reader, Tier::kRemote);
}

// Before any assignment of the plan, in each session.
void Hub::State::SendParts(Worker& reader) { Send(reader, PartsFor(reader)); }

// The best of those that may feed a part of that shard.
Worker* Hub::State::SourceOfPart(const Worker& reader, const Shard& from, Tier farthest) const {
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
  return best ? FindRow(best->serial) : nullptr;
}

// In the index's order, of those that have the whole shard, or of those that still read it.
const Worker* Hub::State::FirstForPart(const Scope& scope, const Worker& reader, bool whole) const {
  auto it = scope.holders.begin();
  for (size_t looked = 0; it != scope.holders.end() && looked < kLookedAtMax; ++looked) {
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
void Hub::State::AwaitPart(Worker& reader, Stream& stream) {
  if (AssignSource(reader)) return;
  if (Pardon(reader, Tier::kRemote) && FeedElsewhere(reader, stream)) return;
  if (AssignPartsAnew(reader)) return;
  const bool awaits_plan = LearnParts(reader);
  PublicationOf(reader).awaiting.insert(&reader);
  if (!awaits_plan && !HopesForAnswer(reader)) GiveUpRead(reader);
}

// For which it has no source: its own, or the first that it needs a part of.
std::pair<Rank, const Shard*> Hub::State::ShardLacked(const Worker& reader) const {
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
