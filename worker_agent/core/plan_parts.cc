// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/plan_parts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/read_plan.h"
#include "common/sharding.h"

namespace tensorhub::agent {
namespace {

// Only the ranks of the parts have a layout.
absl::StatusOr<Sharding> ShardingOfParts(const MakeReadPlan& wanted,
                                         const std::vector<std::shared_ptr<const Layout>>& parts) {
  std::vector<const Layout*> by_rank(wanted.world_size, nullptr);
  for (size_t part = 0; part < parts.size(); ++part) {
    const Rank rank = wanted.parts[part].rank;
    if (rank >= by_rank.size()) {
      return absl::InternalError(
          absl::StrCat("the server named rank ", rank, " of a group of ", by_rank.size()));
    }
    by_rank[rank] = parts[part].get();
  }
  return Sharding::Make(by_rank);
}

}  // namespace

absl::StatusOr<ReadParts> PlanParts(const MakeReadPlan& wanted,
                                    const std::vector<std::shared_ptr<const Layout>>& parts,
                                    const Layout& own) {
  const absl::StatusOr<Sharding> source = ShardingOfParts(wanted, parts);
  if (!source.ok()) return source.status();
  const std::vector<const Layout*> mine = {&own};
  const absl::StatusOr<Sharding> reader = Sharding::Make(mine);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<ReadPlan> plan = PlanRead(*source, *reader, 0);
  if (!plan.ok()) return plan.status();
  auto by_part = std::make_shared<std::vector<ReadStream>>();
  for (const protocol::SourceSharding::Part& part : wanted.parts) {
    const std::optional<uint32_t> shard = source->ShardOf(part.rank);
    const auto stream =
        std::find_if(plan->streams.begin(), plan->streams.end(),
                     [&](const ReadPlan::Stream& each) { return each.shard == shard; });
    if (stream == plan->streams.end()) {
      return absl::InternalError(absl::StrCat("rank ", part.rank, " of the sources has nothing of ",
                                              "what this rank reads, though the server named it"));
    }
    by_part->push_back(std::move(stream->copies));
  }
  return by_part;
}

}  // namespace tensorhub::agent
