// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

// What a calling thread waits for while the progress thread works: one value, set once.
//
// Thread contract: any thread.

#ifndef TENSORHUB_WORKER_AGENT_RUNTIME_ANSWER_H_
#define TENSORHUB_WORKER_AGENT_RUNTIME_ANSWER_H_

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "common/mutex.h"

namespace tensorhub::agent {

// Shared by the waiter and by the task that answers. A task that is dropped instead of run answers
// with `otherwise`, so that nobody waits for ever.
template <class T>
class Answer {
 public:
  class Giver {
   public:
    Giver(std::shared_ptr<Answer> answer, T otherwise)
        : answer_(std::move(answer)), otherwise_(std::move(otherwise)) {}
    ~Giver() { Give(std::move(otherwise_)); }
    Giver(const Giver&) = delete;
    Giver& operator=(const Giver&) = delete;

    // The first one counts.
    void Give(T value) { answer_->Set(std::move(value)); }

   private:
    const std::shared_ptr<Answer> answer_;
    T otherwise_;
  };

  // None: not given by then.
  std::optional<T> WaitUntil(std::chrono::steady_clock::time_point until)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    while (!value_ && changed_.WaitUntil(mutex_, until)) {
    }
    return std::exchange(value_, std::nullopt);
  }
  T Wait() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    while (!value_) changed_.Wait(mutex_);
    return *std::move(value_);
  }
  // The same, and calls `tick` every so often meanwhile, in this thread.
  template <class Tick>
  T Wait(std::chrono::milliseconds every, const Tick& tick) ABSL_LOCKS_EXCLUDED(mutex_) {
    while (!WaitFor(every)) tick();
    return Wait();
  }

 private:
  bool WaitFor(std::chrono::milliseconds time) ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto until = std::chrono::steady_clock::now() + time;
    MutexLock lock(mutex_);
    while (!value_ && changed_.WaitUntil(mutex_, until)) {
    }
    return value_.has_value();
  }

  void Set(T value) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    if (given_) return;
    given_ = true;
    value_ = std::move(value);
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  bool given_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_RUNTIME_ANSWER_H_
