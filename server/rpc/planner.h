// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Compares how groups cut a model (hub::PlanWanted), on a thread of its own: large layouts take up
// to a second, for which the hub must not stand still.
//
// Thread contract: Plan may be called from any thread and returns at once. `done` is called on the
// planner's thread, in the order of the questions.

#ifndef TENSORHUB_SERVER_RPC_PLANNER_H_
#define TENSORHUB_SERVER_RPC_PLANNER_H_

#include <deque>
#include <functional>
#include <optional>
#include <thread>

#include "common/mutex.h"
#include "server/core/planning.h"

namespace tensorhub::rpc {

class Planner {
 public:
  using Done = std::function<void(hub::PlanMade)>;

  explicit Planner(Done done);
  // Finishes the one at hand and drops the others.
  ~Planner();
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  void Plan(const hub::PlanKey& plan, hub::LayoutsByRank from, hub::LayoutsByRank to)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Question {
    hub::PlanKey plan;
    hub::LayoutsByRank from;
    hub::LayoutsByRank to;
  };

  void Run();
  std::optional<Question> TakeNext() ABSL_LOCKS_EXCLUDED(mutex_);

  const Done done_;
  Mutex mutex_;
  CondVar wake_;
  std::deque<Question> questions_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_PLANNER_H_
