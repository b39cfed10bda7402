// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/groups.h"

#include "absl/strings/str_cat.h"

namespace tensorhub::hub {
namespace {

constexpr size_t kRanksBytesMax = 64;  // of ranks that are named in an error

}  // namespace

Member* Groups::FindOpenMember(const WorkerIdentity& worker) {
  const auto it = groups_.find({worker.key.model, worker.key.group});
  if (it == groups_.end() || !it->second.open) return nullptr;
  auto& members = it->second.open->members;
  const auto member = members.find(worker.key.rank);
  if (member == members.end() || member->second.incarnation != worker.incarnation) return nullptr;
  return &member->second;
}

Member* Groups::FindMember(const WorkerIdentity& worker, const TransactionId& transaction) {
  Member* member = FindOpenMember(worker);
  if (member == nullptr || GroupOf(worker.key).open->id != transaction) return nullptr;
  return member;
}

bool Groups::IsOpenFetch(const Worker& worker, const OpenFetch& fetch) const {
  const auto group = groups_.find({worker.id.key.model, worker.id.key.group});
  if (group == groups_.end() || !group->second.open) return false;
  const Transaction& open = *group->second.open;
  return open.id == fetch.transaction && open.world_size == worker.world_size;
}

absl::Status Groups::OutcomeOf(const WorkerKey& worker, const TransactionId& transaction) const {
  const auto group = groups_.find({worker.model, worker.group});
  if (group != groups_.end() && group->second.last &&
      group->second.last->transaction.id == transaction) {
    return group->second.last->status;
  }
  return absl::UnknownError("the server does not know this fetch any more; fetch again");
}

std::string RanksWithout(uint32_t world_size, absl::FunctionRef<bool(Rank)> holds) {
  std::string ranks;
  for (Rank rank = 0; rank < world_size; ++rank) {
    if (holds(rank)) continue;
    if (ranks.size() >= kRanksBytesMax) return absl::StrCat(ranks, ", ...");
    absl::StrAppend(&ranks, ranks.empty() ? "rank " : ", ", rank);
  }
  return ranks;
}

}  // namespace tensorhub::hub
