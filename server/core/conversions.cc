// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R6: groups that cut the model in another way than its publishers. When all ranks have joined it
// is known which shards each of them needs, or why the group cannot read this version, before
// anybody has given up what it holds. The planner says so (common/read_plan.h), outside of the hub.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/chunking.h"
#include "server/core/content.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

std::vector<Fingerprint> LayoutsOf(const Group& group) {
  std::vector<Fingerprint> layouts;
  for (const auto& [rank, join] : group.forming) layouts.push_back(join.layout);
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

// For agents that read their own shard only: how they cut it, against how it is held.
absl::Status CheckShards(const Documents& documents, const Group& group,
                         const Publication& publication, const Sharding& held) {
  const std::string version =
      absl::StrCat("version ", publication.version, " of ", publication.model);
  if (group.forming.size() != held.world_size) {
    return absl::FailedPreconditionError(absl::StrCat(
        version, " has ", held.world_size, " shards, this group ", group.forming.size(),
        " ranks; fetch with a group of world size ", held.world_size));
  }
  for (const auto& [rank, join] : group.forming) {
    const Shard& shard = held.shards.at(rank);
    if (shard.layout == join.layout) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the layout registered by rank ", rank, " is not that of ", version, ": ",
                     documents.Difference(join.layout, shard.layout)));
  }
  return absl::OkStatus();
}

}  // namespace

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
  if (!all_know) return CheckShards(documents_, group, publication, origin);
  // Not all of its ranks may be known, and those that are may be alike.
  const Sharding& published = publication.published;
  const bool as_published = to.size() == published.world_size && to == LayoutsOf(published);
  const PlanWanted wanted = PlanOf(std::move(from), std::move(to));
  const ShardingId id = as_published ? ShardingId{} : wanted.plan.to;
  Sharding* known = FindSharding(publication, id);
  const bool whole = std::any_of(group.forming.begin(), group.forming.end(),
                                 [](const auto& join) { return join.second.whole; });
  const bool is_known = known != nullptr && known->parts.contains(origin.id);
  if (is_known && (known->full || !whole)) return known;
  if (!plans_.HaveLayouts(wanted.from)) return nullptr;
  const KnownPlan& plan = plans_.Get(wanted, *out_);
  if (!plan.made) return nullptr;
  if (!plan.status.ok()) {
    return absl::Status(plan.status.code(),
                        absl::StrCat("version ", publication.version, " of ", publication.model,
                                     " cannot be read as ", key.group,
                                     " cuts it: ", std::string(plan.status.message())));
  }
  if (whole && !plan.full) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", publication.version, " of ", publication.model, " has what ", key.group,
        " has not registered: ", plan.missing, "; register it, or fetch with partial"));
  }
  absl::StatusOr<Sharding*> sharding = Convert(publication, id, group);
  if (sharding.ok()) TakePlan(plan, origin, **sharding);
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
  plans_.TakeLacked();
  std::vector<GroupKey> forming;
  for (const auto& [key, group] : groups_) {
    if (!group.forming.empty()) forming.push_back(key);
  }
  for (const GroupKey& key : forming) Resolve(key, groups_.at(key));
  for (const auto& [name, model] : models_) {
    for (const auto& [id, publication] : model.publications) {
      graph_.WakeWaiting(publication.awaiting);
      graph_.RetryAllRedirects(publication);
    }
  }
  Content{*this}.RetryUnfinished();
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

}  // namespace tensorhub::hub
