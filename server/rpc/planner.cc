// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/planner.h"

#include <utility>

#include "common/thread.h"

namespace tensorhub::rpc {

Planner::Planner(Done done)
    : done_(std::move(done)), thread_(StartThreadOrEnd("planning", [this] { Run(); })) {}

Planner::~Planner() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    questions_.clear();
  }
  wake_.NotifyAll();
  thread_.join();
}

void Planner::Plan(const hub::PlanKey& plan, hub::LayoutsByRank from, hub::LayoutsByRank to) {
  MutexLock lock(mutex_);
  questions_.push_back({plan, std::move(from), std::move(to)});
  wake_.NotifyAll();
}

std::optional<Planner::Question> Planner::TakeNext() {
  MutexLock lock(mutex_);
  while (questions_.empty() && !stopping_) wake_.Wait(mutex_);
  if (stopping_) return std::nullopt;
  Question question = std::move(questions_.front());
  questions_.pop_front();
  return question;
}

void Planner::Run() {
  while (const std::optional<Question> question = TakeNext()) {
    done_(hub::MakePlan(question->plan, question->from, question->to));
  }
}

}  // namespace tensorhub::rpc
