// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which bytes a reader takes from holders of another sharding: asks the hub for their layouts and
// plans (common/read_plan.h), beside the progress thread, since both take their time.

#ifndef TENSORHUB_WORKER_AGENT_LOOP_READ_PLANNER_H_
#define TENSORHUB_WORKER_AGENT_LOOP_READ_PLANNER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/layout.h"
#include "common/mutex.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::agent {

class ReadPlanner {
 public:
  // Encoded. Blocks; ends early once the planner is to stop, by its owner's doing.
  using GetLayout = std::function<absl::StatusOr<std::string>(const Fingerprint&)>;
  // On the planner's thread; or on the asking one, if there is no thread left for that.
  using Done = std::function<void(const ReadPlanned&)>;

  ReadPlanner(GetLayout get_layout, Done done);
  ~ReadPlanner() { Stop(); }
  ReadPlanner(const ReadPlanner&) = delete;
  ReadPlanner& operator=(const ReadPlanner&) = delete;

  // Any thread; does not block. The last one counts: one that waits is dropped, unanswered.
  void Plan(const MakeReadPlan& wanted, std::shared_ptr<const Layout> own)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Finishes the one at hand. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Question {
    MakeReadPlan wanted;
    std::shared_ptr<const Layout> own;
  };

  // RESOURCE_EXHAUSTED: no thread is left to plan it.
  absl::Status Ask(Question question) ABSL_LOCKS_EXCLUDED(mutex_);
  void Run();
  std::optional<Question> TakeNext() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<ReadParts> Answer(const Question& question) const;

  const GetLayout get_layout_;
  const Done done_;
  Mutex mutex_;
  CondVar wake_;
  std::optional<Question> next_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // from the first question on
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_LOOP_READ_PLANNER_H_
