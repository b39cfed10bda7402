// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Watches a thread that turns in a loop, from another one. A turn that lasts longer than one may is
// written to the log, with the call that took most of it, as one that was held up if it waited for
// so long, or else as a busy one; and somebody is told while the thread stands still.
//
// Thread contract: Start, Stop, Turn and Call on the watched thread; `while_stalled` is called on
// the watching one, and must not block.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_STALL_WATCH_H_
#define TENSORHUB_WORKER_AGENT_SEEN_STALL_WATCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "common/time.h"
#include "worker_agent/seen/stall_account.h"

namespace tensorhub::agent {

class StallWatch {
 public:
  // No turn may last longer, but for what its owner asked for and waits for (kOwners): memory takes
  // its time, by the gigabyte.
  static constexpr TimeMs kLimitMs = 100;
  // From then on the thread counts as standing still, whatever holds it up.
  static constexpr TimeMs kStallMs = 500;
  enum class Kind { kPrompt, kOwners };

  // `name` begins the lines of the log. `while_stalled` hears again and again for how long the
  // thread has been standing still.
  StallWatch(std::string name, std::function<void(TimeMs)> while_stalled)
      : name_(std::move(name)), while_stalled_(std::move(while_stalled)) {}
  ~StallWatch() { Stop(); }
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // The thread that calls is watched from now on.
  // RESOURCE_EXHAUSTED: no thread is left that could watch.
  absl::Status Start();
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether it is in a call of kOwners. Any thread, also when this has ended.
  std::shared_ptr<const std::atomic<bool>> owners() const { return owners_; }

  // From construction to destruction. Between turns the thread sleeps, as it should.
  class Turn {
   public:
    explicit Turn(StallWatch& watch);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    StallWatch& watch_;
  };
  // Part of a turn that has a name. What an inner one takes is not laid at the outer one's door.
  class Call {
   public:
    Call(StallWatch& watch, const char* what, Kind kind = Kind::kPrompt);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    StallWatch& watch_;
    const char* const what_;
    const Kind kind_;
    const int64_t since_us_;
    int64_t inner_us_ = 0;
    Call* const outer_;
  };

 private:
  struct Long {
    const char* what = nullptr;  // what took most of it
    Kind kind = Kind::kPrompt;
    int64_t since_us = 0;
    int64_t end_us = 0;
  };

  void EndTurn();
  void Note(const Long& ended) ABSL_LOCKS_EXCLUDED(mutex_);
  void Watch(int64_t thread_id) ABSL_LOCKS_EXCLUDED(mutex_);
  // `all` counts what a turn takes, `waits` what of that no processor was used for.
  void Look(StallAccount& all, StallAccount& waits) ABSL_LOCKS_EXCLUDED(mutex_);
  void LookAtTurn(int64_t since_us, int64_t took_us, int64_t waited_us);
  void Say(const Long& ended, int64_t took_us, int64_t waited_us) const;

  const std::string name_;
  const std::function<void(TimeMs)> while_stalled_;
  std::thread thread_;

  // The watched thread's.
  Call* innermost_ = nullptr;
  const char* longest_ = "";
  int64_t longest_us_ = 0;
  // What the watching thread sees of it; `since_us_` 0: between turns. They are not read as one: at
  // worst a line of the log names a neighbour.
  std::atomic<int64_t> since_us_{0};
  std::atomic<const char*> what_{""};
  const std::shared_ptr<std::atomic<bool>> owners_ = std::make_shared<std::atomic<bool>>(false);
  // The watching thread's: the turn under way of which the log has heard.
  int64_t said_us_ = 0;

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Long> long_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_STALL_WATCH_H_
