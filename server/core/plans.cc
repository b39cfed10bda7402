// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/plans.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/tables.h"

namespace tensorhub::hub {
namespace {

constexpr size_t kRememberedMax = 64;

// R9: the planner's word is of the layouts, which are the workers' words.
absl::Status CheckParts(const PartsByRank& parts) {
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    if (!parts[rank].empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank, " of the group has no byte of it; leave that rank out"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Fingerprint> LayoutsOf(const Sharding& sharding) {
  std::vector<Fingerprint> layouts;
  for (const auto& [rank, shard] : sharding.shards) layouts.push_back(shard.layout);
  return layouts;
}

PlanWanted PlanOf(std::vector<Fingerprint> from, std::vector<Fingerprint> to) {
  return {{IdOfSharding(from), IdOfSharding(to)}, std::move(from), std::move(to)};
}

PlanWanted EqualBoxesIn(std::vector<Fingerprint> layouts) {
  return {{ShardingId{}, IdOfSharding(layouts)}, {}, std::move(layouts)};
}

void TakePlan(const KnownPlan& plan, const Sharding& origin, Sharding& sharding) {
  sharding.parts[origin.id] = plan.parts;
  if (sharding.id) sharding.full = plan.full;
}

bool Plans::HaveLayouts(const std::vector<Fingerprint>& layouts) {
  const bool have = std::all_of(layouts.begin(), layouts.end(), [&](const Fingerprint& layout) {
    return documents_.HasLayout(layout);
  });
  lacked_ |= !have;
  return have;
}

const KnownPlan& Plans::Get(const PlanWanted& wanted, Effects& out) {
  const auto [it, created] = known_.try_emplace(wanted.plan);
  it->second.used = ++used_;
  if (!created) return it->second;
  out.push_back(wanted);
  if (known_.size() <= kRememberedMax) return it->second;
  const auto oldest = std::min_element(known_.begin(), known_.end(), [](auto& a, auto& b) {
    return std::pair(!a.second.made, a.second.used) < std::pair(!b.second.made, b.second.used);
  });
  if (oldest->second.made) known_.erase(oldest);
  return it->second;
}

bool Plans::Learn(const PlanMade& made) {
  const auto it = known_.find(made.plan);
  if (it == known_.end() || it->second.made) return false;
  KnownPlan& known = it->second;
  known.made = true;
  known.parts = made.parts;
  known.full = made.full;
  known.missing = made.missing;
  known.equal = made.equal;
  known.status = made.status.ok() ? CheckParts(made.parts) : made.status;
  return true;
}

void Plans::ForgetFailure(const PlanMade& made) {
  if (absl::IsUnavailable(made.status)) known_.erase(made.plan);
}

}  // namespace tensorhub::hub
