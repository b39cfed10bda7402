// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/read_plan.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/alike_tensors.h"
#include "common/refusals.h"
#include "common/shard_planner.h"
#include "common/tensor_match.h"
#include "common/text.h"

namespace tensorhub {
namespace {

absl::Status Refuse(const Refusals& refusals) {
  return refusals.ToStatus(absl::StatusCode::kFailedPrecondition,
                           "these tensors cannot be read from that sharding",
                           "register them as they are published (name, dtype, global shape), in "
                           "slices along their first "
                           "dimensions, or publish the missing ones");
}

absl::Status TakesTooLong() {
  return absl::FailedPreconditionError(absl::StrCat(
      "it takes more than ", PlanSteps::kMax,
      " steps to see whether the readers hold all of what the sources do; cut the tensors into "
      "fewer pieces, or the group into fewer ranks"));
}

// To look for one that is cut alike, each slice is looked at.
std::string TakeStepsToCompare(TensorMatch& match) {
  return match.steps().Take(match.source().slices(match.source_tensor()).size() +
                            match.reader().slices(match.reader_tensor()).size());
}

// The hub's question, in three passes over the reader sharding's tensors.
class CoverCheck {
 public:
  CoverCheck(const Sharding& source, const Sharding& reader, PlanSteps& steps)
      : steps_(steps), match_(source, reader, steps) {
    for (uint32_t i = 0; i < reader.shards().size(); ++i) {
      planners_.emplace_back(reader, i, ShardPlanner::Keep::kCount);
    }
  }

  absl::StatusOr<Coverage> Run() {
    for (size_t tensor = 0; tensor < match_.reader().tensors().size(); ++tensor) {
      // An empty slice needs nobody.
      if (match_.reader().slices(tensor).empty() || steps_.are_used_up()) continue;
      AddIfBad(TakeWithoutChoice(tensor));
    }
    if (absl::Status status = Refuse(refusals_); !status.ok()) return status;
    // The sources that bring what only they have are known now.
    for (size_t tensor : with_choice_) {
      if (GoTo(tensor)) NeedSomebody();
    }
    for (size_t tensor : with_choice_) {
      if (GoTo(tensor)) AddIfBad(TakeAll());
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
  void AddIfBad(const std::string& why) {
    if (why.empty()) return;
    refusals_.Add(match_.reader().tensors()[match_.reader_tensor()].name, why);
  }

  // To one that was found to be well. False: that would take too long, now.
  bool GoTo(size_t tensor) {
    if (steps_.are_used_up()) return false;
    match_.Seek(tensor);
    std::string why = match_.Cut();
    AddIfBad(why);
    return why.empty();
  }

  std::string TakeWithoutChoice(size_t tensor) {
    if (std::string why = match_.Seek(tensor); !why.empty()) return why;
    if (std::string why = TakeStepsToCompare(match_); !why.empty()) return why;
    if (const AlikeTensors::Parts* known = alike_.Find(match_)) return Count(*known);
    if (std::string why = match_.Cut(); !why.empty()) return why;
    if (!match_.HasChoice()) {
      std::string why = TakeAll();
      if (why.empty()) alike_.Add(match_, std::move(parts_));
      return why;
    }
    with_choice_.push_back(tensor);
    NeedSoleHolders();
    return "";
  }

  std::string Count(const AlikeTensors::Parts& parts) {
    if (std::string why = steps_.Take(parts.size()); !why.empty()) return why;
    for (const auto& [reader_shard, part] : parts) {
      if (std::string why = planners_[reader_shard].Count(part); !why.empty()) return why;
    }
    return "";
  }

  std::string TakeAll() {
    parts_.clear();
    for (const TensorMatch::Wanted& wanted : match_.wanted()) {
      for (const Sharding::Slice& slice : wanted.readers) {
        ShardPlanner& planner = planners_[slice.shard];
        if (std::string why = planner.Take(match_, wanted, slice, true); !why.empty()) return why;
        for (const ShardPlanner::Part& part : planner.parts()) {
          parts_.emplace_back(slice.shard, part);
        }
      }
    }
    return "";
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
  void NeedSomebody() {
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

  PlanSteps& steps_;
  TensorMatch match_;
  AlikeTensors alike_;
  AlikeTensors::Parts parts_;           // of the tensor at hand
  std::vector<ShardPlanner> planners_;  // by reader shard
  std::vector<size_t> with_choice_;     // tensors
  Refusals refusals_;
};

// Whether the readers have all of a tensor of the sources'. No where it takes too many steps.
bool HaveAllOf(size_t tensor, TensorMatch& match, AlikeTensors& alike) {
  if (!match.Seek(tensor).empty() || !TakeStepsToCompare(match).empty()) return false;
  if (alike.Find(match) != nullptr) return true;
  if (!match.Cut().empty()) return false;
  alike.Add(match, {});
  return true;
}

// What of the source sharding the reader sharding has not: the question the other way round.
void FindMissing(const Sharding& source, const Sharding& reader, PlanSteps& steps,
                 Coverage& coverage) {
  TensorMatch match(reader, source, steps);
  AlikeTensors alike;
  std::vector<std::string> missing;
  for (size_t tensor = 0; tensor < source.tensors().size() && !steps.are_used_up(); ++tensor) {
    if (source.slices(tensor).empty() || HaveAllOf(tensor, match, alike)) continue;
    missing.push_back(Shown(source.tensors()[tensor].name));
  }
  coverage.full = missing.empty();
  const size_t more = missing.size() - std::min(missing.size(), Refusals::kNamedMax);
  missing.resize(missing.size() - more);
  coverage.missing = absl::StrJoin(missing, ", ");
  if (more > 0) absl::StrAppend(&coverage.missing, " and ", more, " more");
}

}  // namespace

absl::StatusOr<Coverage> CheckCover(const Sharding& source, const Sharding& reader) {
  PlanSteps steps;
  absl::StatusOr<Coverage> coverage = CoverCheck(source, reader, steps).Run();
  if (coverage.ok()) {
    PlanSteps other_way;
    FindMissing(source, reader, other_way, *coverage);
    if (other_way.are_used_up()) return TakesTooLong();
  }
  return coverage;
}

absl::StatusOr<ReadPlan> PlanRead(const Sharding& source, const Sharding& reader,
                                  uint32_t reader_shard) {
  PlanSteps steps;
  TensorMatch match(source, reader, steps, reader_shard);
  ShardPlanner planner(reader, reader_shard, ShardPlanner::Keep::kItems);
  Refusals refusals;
  const auto is_own = [&](const Sharding::Slice& slice) { return match.Concerns(slice); };
  for (size_t tensor = 0; tensor < reader.tensors().size(); ++tensor) {
    const std::span<const Sharding::Slice> slices = reader.slices(tensor);
    // An empty slice needs nobody, and those who are needed may not know the tensor.
    if (std::none_of(slices.begin(), slices.end(), is_own)) continue;
    std::string why = match.Seek(tensor);
    if (why.empty()) why = match.Cut();
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
