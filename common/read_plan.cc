// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/read_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/refusals.h"
#include "common/shard_planner.h"
#include "common/tensor_match.h"

namespace tensorhub {
namespace {

absl::Status Refuse(const Refusals& refusals) {
  return refusals.ToStatus(absl::StatusCode::kFailedPrecondition,
                           "these tensors cannot be read from that sharding",
                           "register them as they are published (name, dtype, global shape), in "
                           "slices along their first "
                           "dimensions, or publish the missing ones");
}

// The hub's question, in three passes over the reader sharding's tensors.
class CoverCheck {
 public:
  CoverCheck(const Sharding& source, const Sharding& reader) : match_(source, reader) {
    for (uint32_t i = 0; i < reader.shards().size(); ++i) {
      planners_.emplace_back(reader, i, ShardPlanner::Keep::kCount);
    }
  }

  absl::StatusOr<Coverage> Run() {
    TakeWithoutChoice();
    if (absl::Status status = Refuse(refusals_); !status.ok()) return status;
    // Those who bring what only they have are known now.
    for (size_t tensor : with_choice_) NeedSomebody(tensor);
    for (size_t tensor : with_choice_) {
      match_.Seek(tensor);
      TakeAll();
    }
    if (absl::Status status = Refuse(refusals_); !status.ok()) return status;
    Coverage coverage;
    for (const ShardPlanner& planner : planners_) {
      if (absl::Status status = planner.CheckStreams(); !status.ok()) return status;
      coverage.needs.push_back(planner.Needs());
    }
    return coverage;
  }

 private:
  void TakeWithoutChoice() {
    for (size_t tensor = 0; tensor < match_.reader().tensors().size(); ++tensor) {
      if (std::string why = match_.Seek(tensor); !why.empty()) {
        refusals_.Add(match_.reader().tensors()[tensor].name, why);
      } else if (match_.HasChoice()) {
        with_choice_.push_back(tensor);
        NeedSoleHolders();
      } else {
        TakeAll();
      }
    }
  }

  void TakeAll() {
    for (const TensorMatch::Wanted& wanted : match_.wanted()) {
      for (const Sharding::Slice& slice : wanted.readers) {
        const std::string why = planners_[slice.shard].Take(match_, wanted, slice, true);
        if (why.empty()) continue;
        refusals_.Add(match_.reader().tensors()[match_.reader_tensor()].name, why);
        return;
      }
    }
  }

  // Calls it for each cell of the tensor at hand and each reader shard that wants it.
  template <typename Visit>
  void ForEachCell(const Visit& visit) {
    for (const TensorMatch::Wanted& wanted : match_.wanted()) {
      for (size_t cell = 0; cell < wanted.cells.count(); ++cell) {
        for (const Sharding::Slice& slice : wanted.readers) {
          visit(wanted, wanted.cells.holders(cell), planners_[slice.shard]);
        }
      }
    }
  }

  void NeedSoleHolders() {
    ForEachCell([](const TensorMatch::Wanted& wanted, std::span<const uint32_t> holders,
                   ShardPlanner& planner) {
      if (holders.size() == 1) planner.Need(wanted.sources[holders[0]].shard);
    });
  }

  // Somebody more is needed only where nobody who is needed anyway holds the cell. Who that is does
  // not depend on the tensor's name, so that it is mostly the same one.
  void NeedSomebody(size_t tensor) {
    match_.Seek(tensor);
    ForEachCell([this](const TensorMatch::Wanted& wanted, std::span<const uint32_t> holders,
                       ShardPlanner& planner) {
      const auto shard_of = [&](uint32_t holder) { return wanted.sources[holder].shard; };
      const auto needed = [&](uint32_t holder) { return planner.Needs(shard_of(holder)); };
      if (std::any_of(holders.begin(), holders.end(), needed)) return;
      const auto preference = [&](uint32_t holder) {
        const Sharding::Shard& shard = match_.source().shards()[shard_of(holder)];
        return PreferenceOf(0, planner.fingerprint(), shard.fingerprint);
      };
      planner.Need(
          shard_of(*std::max_element(holders.begin(), holders.end(), [&](uint32_t a, uint32_t b) {
            return preference(a) < preference(b);
          })));
    });
  }

  TensorMatch match_;
  std::vector<ShardPlanner> planners_;  // by reader shard
  std::vector<size_t> with_choice_;     // tensors
  Refusals refusals_;
};

// Whether the reader sharding has every slice of the source sharding: the question the other way
// round.
bool IsFull(const Sharding& source, const Sharding& reader) {
  TensorMatch match(reader, source);
  for (size_t tensor = 0; tensor < source.tensors().size(); ++tensor) {
    if (!match.Seek(tensor).empty()) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Coverage> CheckCover(const Sharding& source, const Sharding& reader) {
  absl::StatusOr<Coverage> coverage = CoverCheck(source, reader).Run();
  if (coverage.ok()) coverage->full = IsFull(source, reader);
  return coverage;
}

absl::StatusOr<ReadPlan> PlanRead(const Sharding& source, const Sharding& reader,
                                  uint32_t reader_shard) {
  TensorMatch match(source, reader, reader_shard);
  ShardPlanner planner(reader, reader_shard, ShardPlanner::Keep::kItems);
  Refusals refusals;
  const auto is_own = [&](const Sharding::Slice& slice) { return match.Concerns(slice); };
  for (size_t tensor = 0; tensor < reader.tensors().size(); ++tensor) {
    const std::span<const Sharding::Slice> slices = reader.slices(tensor);
    // An empty slice needs nobody, and those who are needed may not know the tensor.
    if (std::none_of(slices.begin(), slices.end(), is_own)) continue;
    std::string why = match.Seek(tensor);
    for (const TensorMatch::Wanted& wanted : match.wanted()) {
      for (const Sharding::Slice& slice : wanted.readers) {
        if (why.empty() && is_own(slice)) why = planner.Take(match, wanted, slice, false);
      }
    }
    if (!why.empty()) refusals.Add(reader.tensors()[tensor].name, why);
  }
  if (absl::Status status = Refuse(refusals); !status.ok()) return status;
  if (absl::Status status = planner.CheckStreams(); !status.ok()) return status;
  return std::move(planner).TakePlan();
}

}  // namespace tensorhub
