// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R6: groups that cut the model in another way than its publishers. When all ranks have joined it
// is known which shards each of them needs, or why the group cannot read this version, before
// anybody has given up what it holds. The planner says so (common/read_plan.h), outside of the hub.
//
// R5: such a rank reads its own shard, of its group's sharding, from whoever has that. Where nobody
// near has it, each published shard that it needs a part of feeds one stream of it. The sources of
// those hold their shards whole, and so read from nobody: no cycle can come of it. The rank serves
// its own shard from its first chunk on, like any reader, so that the next group follows it.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/chunking.h"
#include "server/core/source_selection.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

constexpr size_t kConversionsMax = 64;  // remembered; others are asked for again
// Of the holders of a place: most of them will do, some are barred or do not know streams.
constexpr size_t kLookedAtMax = 256;

std::vector<Fingerprint> LayoutsOf(const Group& group) {
  std::vector<Fingerprint> layouts;
  for (const auto& [rank, join] : group.forming) layouts.push_back(join.layout);
  return layouts;
}

std::vector<Fingerprint> LayoutsOf(const Sharding& sharding) {
  std::vector<Fingerprint> layouts;
  for (const auto& [rank, shard] : sharding.shards) layouts.push_back(shard.layout);
  return layouts;
}

PlanWanted PlanOf(std::vector<Fingerprint> from, std::vector<Fingerprint> to) {
  return {{IdOfSharding(from), IdOfSharding(to)}, std::move(from), std::move(to)};
}

SourceSharding PartsFor(const Worker& reader, const Sharding& published) {
  const Read& read = *reader.read;
  SourceSharding parts{
      read.transaction, read.plan, published.world_size, published.chunk_bytes, {}};
  for (const ReadPart& part : reader.reference->sharding->parts[reader.id.key.rank]) {
    parts.parts.push_back({part.rank, published.shards.at(part.rank).layout});
  }
  return parts;
}

// R9: the planner's word is of the layouts, which are the workers' words.
absl::Status CheckParts(const std::vector<std::vector<ReadPart>>& parts) {
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    if (!parts[rank].empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank, " of the group has no byte of it; leave that rank out"));
  }
  return absl::OkStatus();
}

}  // namespace

bool Hub::State::HaveLayouts(const std::vector<Fingerprint>& layouts) {
  const bool have = std::all_of(layouts.begin(), layouts.end(), [&](const Fingerprint& layout) {
    return layouts_.contains(layout);
  });
  plans_lack_layouts_ |= !have;
  return have;
}

// R6: by which sharding the group, whose ranks have all joined, reads this. Null: the planner has
// yet to say whether it can.
absl::StatusOr<Sharding*> Hub::State::ShardingFor(const GroupKey& key, const Group& group,
                                                  Publication& publication) {
  const auto world_size = static_cast<uint32_t>(group.forming.size());
  std::vector<Fingerprint> from = LayoutsOf(publication.published);
  std::vector<Fingerprint> to = LayoutsOf(group);
  if (to == from) return &publication.published;
  const bool all_know = std::all_of(group.forming.begin(), group.forming.end(), [&](auto& join) {
    const Worker* worker = FindWorker({key.model, key.group, join.first});
    return worker != nullptr && worker->knows_resharding;
  });
  if (!all_know) return CheckShards(group, world_size, publication);
  const PlanWanted wanted = PlanOf(std::move(from), std::move(to));
  const ShardingId& id = wanted.plan.to;
  const auto converted = publication.converted.find(id);
  if (converted != publication.converted.end() && !converted->second.parts.empty()) {
    return &converted->second;
  }
  if (!HaveLayouts(wanted.from)) return nullptr;
  const Conversion& conversion = ConversionOf(wanted);
  if (!conversion.made) return nullptr;
  if (!conversion.status.ok()) {
    return absl::Status(conversion.status.code(),
                        absl::StrCat("version ", publication.version, " of ", publication.model,
                                     " cannot be read as ", key.group,
                                     " cuts it: ", std::string(conversion.status.message())));
  }
  return Convert(publication, id, group, conversion);
}

// Asks the planner, once.
Conversion& Hub::State::ConversionOf(const PlanWanted& wanted) {
  const auto [it, created] = conversions_.try_emplace(wanted.plan);
  it->second.used = ++conversions_used_;
  if (!created) return it->second;
  out_->push_back(wanted);
  if (conversions_.size() <= kConversionsMax) return it->second;
  const auto oldest =
      std::min_element(conversions_.begin(), conversions_.end(), [](const auto& a, const auto& b) {
        return std::pair(!a.second.made, a.second.used) < std::pair(!b.second.made, b.second.used);
      });
  if (oldest->second.made) conversions_.erase(oldest);
  return it->second;
}

void Hub::State::On(const PlanMade& event) {
  const auto it = conversions_.find(event.plan);
  if (it == conversions_.end() || it->second.made) return;
  Conversion& conversion = it->second;
  conversion.made = true;
  conversion.parts = event.parts;
  conversion.status = event.status.ok() ? CheckParts(event.parts) : event.status;
  RetryPlans();
  // A failure that may pass is not remembered.
  if (absl::IsUnavailable(event.status)) conversions_.erase(event.plan);
}

// Of groups that may have waited for a plan, and of readers that did.
void Hub::State::RetryPlans() {
  plans_lack_layouts_ = false;
  std::vector<GroupKey> forming;
  for (const auto& [key, group] : groups_) {
    if (!group.forming.empty()) forming.push_back(key);
  }
  for (const GroupKey& key : forming) Resolve(key, groups_.at(key));
  for (const auto& [name, model] : models_) {
    for (const auto& [id, publication] : model.publications) {
      WakeWaiting(publication.published.awaiting);
    }
  }
}

// R8: what a reader needs parts of, where this life of the hub does not know it. True: it will.
bool Hub::State::LearnParts(Worker& reader) {
  Sharding& sharding = *reader.reference->sharding;
  if (!sharding.id || !sharding.parts.empty() || recovering_) return false;
  const Sharding& published = PublicationOf(reader).published;
  // All ranks have to be known, of the group and of the publishers.
  if (sharding.shards.size() != sharding.world_size || published.world_size == 0) return false;
  if (published.shards.size() != published.world_size) return false;
  const PlanWanted wanted = PlanOf(LayoutsOf(published), LayoutsOf(sharding));
  if (!HaveLayouts(wanted.from) || !HaveLayouts(wanted.to)) return true;
  const Conversion& conversion = ConversionOf(wanted);
  if (conversion.made && conversion.status.ok()) sharding.parts = conversion.parts;
  return !conversion.made;
}

// Its shards are there from now on, whoever comes to hold them.
absl::StatusOr<Sharding*> Hub::State::Convert(Publication& publication, const ShardingId& id,
                                              const Group& group, const Conversion& conversion) {
  if (publication.converted.size() >= kConvertedMax && !publication.converted.contains(id)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("version ", publication.version, " of ", publication.model, " is held in ",
                     kConvertedMax, " other shardings already; fetch a later version"));
  }
  Sharding& sharding = publication.converted[id];
  sharding.id = id;
  sharding.world_size = static_cast<uint32_t>(group.forming.size());
  sharding.parts = conversion.parts;
  uint64_t largest = 0;
  for (const auto& [rank, join] : group.forming) {
    largest = std::max(largest, layouts_.at(join.layout)->total_bytes());
  }
  if (sharding.chunk_bytes == 0) sharding.chunk_bytes = DefaultChunkBytes(largest);
  const Fingerprint attachment = publication.published.shards.at(0).attachment;
  for (const auto& [rank, join] : group.forming) {
    EnsureShard(sharding, rank, join.layout, attachment);
  }
  return &sharding;
}

// Of a reader that nobody feeds, from holders of other shards than its own. All parts, or none.
bool Hub::State::AssignParts(Worker& reader, Tier farthest) {
  const Sharding& sharding = *reader.reference->sharding;
  if (recovering_ || sharding.parts.empty()) return false;
  Refresh(&reader);
  Sharding& published = PublicationOf(reader).published;
  std::vector<std::pair<Shard*, Worker*>> sources;
  for (const ReadPart& part : sharding.parts[reader.id.key.rank]) {
    const auto from = published.shards.find(part.rank);
    if (from == published.shards.end()) return false;
    Worker* source = SourceOfPart(reader, from->second, farthest);
    if (source == nullptr) return false;
    sources.emplace_back(&from->second, source);
  }
  Divide(reader, sources.size(), /*ranges=*/true);
  for (size_t i = 0; i < sources.size(); ++i) {
    reader.read->streams[i].from = sources[i].first;
  }
  SendParts(reader);
  for (size_t i = 0; i < sources.size(); ++i) {
    Feed(reader, reader.read->streams[i], *sources[i].second);
  }
  return true;
}

// Before any assignment of the plan, in each session.
void Hub::State::SendParts(Worker& reader) {
  Send(reader, PartsFor(reader, PublicationOf(reader).published));
}

// The best of those that hold that shard whole.
Worker* Hub::State::SourceOfPart(const Worker& reader, const Shard& from, Tier farthest) const {
  std::vector<Candidate> found;
  const auto look = [&](const Scope* scope) {
    const Worker* source = scope == nullptr ? nullptr : FirstWhole(*scope, reader);
    if (source != nullptr) found.push_back(CandidateOf(*source, reader));
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

// In the index's order.
const Worker* Hub::State::FirstWhole(const Scope& scope, const Worker& reader) const {
  auto it = scope.holders.begin();
  for (size_t looked = 0; it != scope.holders.end() && looked < kLookedAtMax; ++looked) {
    const HolderRank& rank = it->rank;
    if (rank.steps_missing > 0) {
      it = scope.holders.lower_bound(Holder{{rank.slow, rank.unreliable, rank.readers + 1}});
      continue;
    }
    const Worker& source = *it++->worker;
    if (MayFeedRanges(source) && MayServe(source, reader)) return &source;
  }
  return nullptr;
}

// A stream's part that nobody can bring now. The others go on meanwhile.
void Hub::State::AwaitPart(Worker& reader, Stream& stream) {
  if (AssignSource(reader)) return;
  if (Pardon(reader, Tier::kRemote) && FeedElsewhere(reader, stream)) return;
  PublicationOf(reader).published.awaiting.insert(&reader);
  if (!HopesForAnswer(reader)) GiveUpRead(reader);
}

// For which it has no source: its own, or the first that it needs a part of.
std::pair<Rank, const Shard*> Hub::State::ShardLacked(const Worker& reader) const {
  const Sharding& own = *reader.reference->sharding;
  const std::pair<Rank, const Shard*> whole{reader.id.key.rank, reader.reference->shard};
  if (own.parts.empty()) return whole;
  const Sharding& published = PublicationOf(reader).published;
  for (const ReadPart& part : own.parts[reader.id.key.rank]) {
    const auto from = published.shards.find(part.rank);
    if (from == published.shards.end()) continue;
    if (SourceOfPart(reader, from->second, Tier::kRemote) == nullptr) {
      return {part.rank, &from->second};
    }
  }
  return whole;
}

}  // namespace tensorhub::hub
