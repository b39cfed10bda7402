// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/planning.h"

#include "common/read_plan.h"
#include "common/sharding.h"

namespace tensorhub::hub {
namespace {

absl::StatusOr<tensorhub::Sharding> ShardingOf(const LayoutsByRank& layouts) {
  std::vector<const Layout*> by_rank;
  for (const auto& layout : layouts) {
    if (layout == nullptr) {
      return absl::UnavailableError("a layout was dropped meanwhile; fetch again");
    }
    by_rank.push_back(layout.get());
  }
  return tensorhub::Sharding::Make(by_rank);
}

// Ranks with equal slices hold one shard: the first of them stands for all.
std::vector<ReadPart> PartsOf(const std::vector<ReadNeed>& needs,
                              const tensorhub::Sharding& source) {
  std::vector<ReadPart> parts;
  for (const ReadNeed& need : needs) {
    parts.push_back({source.shards()[need.shard].ranks.front(), need.share});
  }
  return parts;
}

}  // namespace

PlanMade MakePlan(const PlanKey& plan, const LayoutsByRank& from, const LayoutsByRank& to) {
  PlanMade made;
  made.plan = plan;
  const absl::StatusOr<tensorhub::Sharding> source = ShardingOf(from);
  const absl::StatusOr<tensorhub::Sharding> reader = ShardingOf(to);
  if (made.status = source.status(); !made.status.ok()) return made;
  if (made.status = reader.status(); !made.status.ok()) return made;
  const absl::StatusOr<Coverage> coverage = CheckCover(*source, *reader);
  if (made.status = coverage.status(); !made.status.ok()) return made;
  for (Rank rank = 0; rank < to.size(); ++rank) {
    made.parts.push_back(PartsOf(coverage->needs[*reader->ShardOf(rank)], *source));
  }
  made.full = coverage->full;
  return made;
}

}  // namespace tensorhub::hub
