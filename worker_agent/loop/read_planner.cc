// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/loop/read_planner.h"

#include <utility>

#include "worker_agent/core/plan_parts.h"
#include "worker_agent/runtime/thread.h"

namespace tensorhub::agent {
ReadPlanner::ReadPlanner(GetLayout get_layout, Done done)
    : get_layout_(std::move(get_layout)), done_(std::move(done)) {}

void ReadPlanner::Plan(const MakeReadPlan& wanted, std::shared_ptr<const Layout> own) {
  const absl::Status status = Ask({wanted, std::move(own)});
  if (!status.ok()) done_(ReadPlanned{wanted.token, status});
}

absl::Status ReadPlanner::Ask(Question question) {
  MutexLock lock(mutex_);
  if (stopping_) return absl::OkStatus();
  if (!thread_.joinable()) {
    absl::StatusOr<std::thread> thread = StartWithoutSignals("planning a read", [this] { Run(); });
    if (!thread.ok()) return thread.status();
    thread_ = *std::move(thread);
  }
  next_ = std::move(question);
  wake_.NotifyAll();
  return absl::OkStatus();
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
    ReadPlanned planned{question->wanted.token, parts.status()};
    if (parts.ok()) planned.parts = *std::move(parts);
    done_(planned);
  }
}

// R9: a document that is not what its fingerprint says is nobody's layout.
absl::StatusOr<ReadParts> ReadPlanner::Answer(const Question& question) const {
  std::vector<std::shared_ptr<const Layout>> layouts;
  for (const protocol::SourceSharding::Part& part : question.wanted.parts) {
    const absl::StatusOr<std::string> encoded = get_layout_(part.layout);
    if (!encoded.ok()) return encoded.status();
    absl::StatusOr<Layout> layout = Layout::Decode(*encoded);
    if (!layout.ok()) return layout.status();
    if (layout->fingerprint() != part.layout) {
      return absl::DataLossError("the server answered with another layout than it named");
    }
    layouts.push_back(std::make_shared<const Layout>(*std::move(layout)));
  }
  return PlanParts(question.wanted, layouts, *question.own);
}

}  // namespace tensorhub::agent
