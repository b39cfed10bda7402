// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/read_planner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/read_plan.h"
#include "common/sharding.h"
#include "worker_agent/thread.h"

namespace tensorhub::agent {
namespace {

// Only the ranks of the parts have a layout.
absl::StatusOr<Sharding> ShardingOfParts(const MakeReadPlan& wanted,
                                         const std::vector<Layout>& parts) {
  std::vector<const Layout*> by_rank(wanted.world_size, nullptr);
  for (size_t part = 0; part < parts.size(); ++part) {
    const Rank rank = wanted.parts[part].rank;
    if (rank >= by_rank.size()) {
      return absl::InternalError(
          absl::StrCat("the server named rank ", rank, " of a group of ", by_rank.size()));
    }
    by_rank[rank] = &parts[part];
  }
  return Sharding::Make(by_rank);
}

}  // namespace

absl::StatusOr<ReadParts> PlanParts(const MakeReadPlan& wanted, const std::vector<Layout>& parts,
                                    const Layout& own) {
  const absl::StatusOr<Sharding> source = ShardingOfParts(wanted, parts);
  if (!source.ok()) return source.status();
  const std::vector<const Layout*> mine = {&own};
  const absl::StatusOr<Sharding> reader = Sharding::Make(mine);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<ReadPlan> plan = PlanRead(*source, *reader, 0);
  if (!plan.ok()) return plan.status();
  auto by_part = std::make_shared<std::vector<ReadStream>>();
  for (const SourceShardingDirective::Part& part : wanted.parts) {
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

ReadPlanner::ReadPlanner(GetLayout get_layout, Done done)
    : get_layout_(std::move(get_layout)), done_(std::move(done)) {}

void ReadPlanner::Plan(const MakeReadPlan& wanted, std::shared_ptr<const Layout> own) {
  MutexLock lock(mutex_);
  if (stopping_) return;
  next_ = Question{wanted, std::move(own)};
  if (!thread_.joinable()) thread_ = StartWithoutSignals([this] { Run(); });
  wake_.NotifyAll();
}

void ReadPlanner::Stop() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  wake_.NotifyAll();
  if (thread.joinable()) thread.join();
}

std::optional<ReadPlanner::Question> ReadPlanner::TakeNext() {
  MutexLock lock(mutex_);
  while (!next_ && !stopping_) wake_.Wait(mutex_);
  if (stopping_) return std::nullopt;
  return std::exchange(next_, std::nullopt);
}

void ReadPlanner::Run() {
  while (const std::optional<Question> question = TakeNext()) {
    absl::StatusOr<ReadParts> parts = Answer(*question);
    ReadPlanned planned{question->wanted.transaction, question->wanted.plan, parts.status()};
    if (parts.ok()) planned.parts = *std::move(parts);
    done_(planned);
  }
}

// R9: a document that is not what its fingerprint says is nobody's layout.
absl::StatusOr<ReadParts> ReadPlanner::Answer(const Question& question) const {
  std::vector<Layout> layouts;
  for (const SourceShardingDirective::Part& part : question.wanted.parts) {
    const absl::StatusOr<std::string> encoded = get_layout_(part.layout);
    if (!encoded.ok()) return encoded.status();
    absl::StatusOr<Layout> layout = Layout::Decode(*encoded);
    if (!layout.ok()) return layout.status();
    if (layout->fingerprint() != part.layout) {
      return absl::DataLossError("the server answered with another layout than it named");
    }
    layouts.push_back(*std::move(layout));
  }
  return PlanParts(question.wanted, layouts, *question.own);
}

}  // namespace tensorhub::agent
