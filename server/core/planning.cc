// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/planning.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "common/read_plan.h"
#include "common/sharding.h"

namespace tensorhub::hub {
namespace {

absl::Status CheckThere(const LayoutsByRank& layouts) {
  const bool there = std::none_of(layouts.begin(), layouts.end(),
                                  [](const auto& layout) { return layout == nullptr; });
  if (there) return absl::OkStatus();
  return absl::UnavailableError("a layout was dropped meanwhile; fetch again");
}

absl::StatusOr<tensorhub::Sharding> ShardingOf(const LayoutsByRank& layouts) {
  if (absl::Status status = CheckThere(layouts); !status.ok()) return status;
  std::vector<const Layout*> by_rank;
  for (const auto& layout : layouts) by_rank.push_back(layout.get());
  return tensorhub::Sharding::Make(by_rank);
}

struct Held {
  uint64_t hash = 0;
  EqualBoxes::Holder holder;
  bool operator<(const Held& other) const {
    return std::tie(hash, holder.rank, holder.entry) <
           std::tie(other.hash, other.holder.rank, other.holder.entry);
  }
};

// Every box that a rank holds and that says where it belongs, alike ones side by side.
std::vector<Held> BoxesIn(const LayoutsByRank& layouts) {
  std::vector<Held> boxes;
  for (Rank rank = 0; rank < layouts.size(); ++rank) {
    for (uint32_t i = 0; i < layouts[rank]->entries().size(); ++i) {
      const Layout::Entry entry = layouts[rank]->entries()[i];
      if (!entry.is_slice || entry.bytes == 0) continue;
      boxes.push_back(
          {absl::HashOf(entry.name,
                        absl::MakeSpan(entry.slice_offset.data(), entry.slice_offset.size()),
                        absl::MakeSpan(entry.shape.data(), entry.shape.size())),
           {rank, i}});
    }
  }
  std::sort(boxes.begin(), boxes.end());
  return boxes;
}

bool IsSameBox(const Layout::Entry& a, const Layout::Entry& b) {
  const auto same = [](std::span<const uint64_t> one, std::span<const uint64_t> other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
  };
  return a.name == b.name && a.dtype == b.dtype && same(a.shape, b.shape) &&
         same(a.global_shape, b.global_shape) && same(a.slice_offset, b.slice_offset);
}

EqualBoxes FindEqualBoxes(const LayoutsByRank& layouts) {
  const auto entry = [&](const EqualBoxes::Holder& at) {
    return layouts[at.rank]->entries()[at.entry];
  };
  std::vector<std::vector<EqualBoxes::Holder>> found;
  const std::vector<Held> boxes = BoxesIn(layouts);
  for (size_t i = 0; i < boxes.size();) {
    std::vector<EqualBoxes::Holder> alike;
    const size_t first = i;
    for (; i < boxes.size() && boxes[i].hash == boxes[first].hash; ++i) {
      if (!IsSameBox(entry(boxes[first].holder), entry(boxes[i].holder))) continue;
      alike.push_back(boxes[i].holder);
    }
    if (alike.size() > 1) found.push_back(std::move(alike));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.front().rank, a.front().entry) < std::tie(b.front().rank, b.front().entry);
  });
  EqualBoxes equal;
  for (const auto& alike : found) {
    equal.holders.insert(equal.holders.end(), alike.begin(), alike.end());
    equal.ends.push_back(equal.holders.size());
  }
  return equal;
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
  if (from.empty()) {
    if (made.status = CheckThere(to); made.status.ok()) made.equal = FindEqualBoxes(to);
    return made;
  }
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
  made.missing = coverage->missing;
  return made;
}

}  // namespace tensorhub::hub
