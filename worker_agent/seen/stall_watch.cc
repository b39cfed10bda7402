// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/stall_watch.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "worker_agent/runtime/log.h"
#include "worker_agent/runtime/thread.h"

namespace tensorhub::agent {
namespace {

constexpr int64_t kLookUs = 25'000;
// While a turn lasts for longer than one look: of a process that is stopped again and again, for
// less than a look each time, a fifth of that counts.
constexpr int64_t kCloseLookUs = 5'000;
constexpr int64_t kLimitUs = StallWatch::kLimitMs * 1000;
constexpr int64_t kStallUs = StallWatch::kStallMs * 1000;
constexpr int64_t kSayWhileUs = 1'000'000;  // a turn that has lasted so long may never end

int64_t SteadyUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What a thread of this process has had of processors since the last time; nothing where the kernel
// does not say.
class ProcessorUse {
 public:
  explicit ProcessorUse(int64_t thread_id)
      : fd_(open(absl::StrCat("/proc/self/task/", thread_id, "/schedstat").c_str(),
                 O_RDONLY | O_CLOEXEC)) {}
  ~ProcessorUse() {
    if (fd_ >= 0) close(fd_);
  }
  ProcessorUse(const ProcessorUse&) = delete;
  ProcessorUse& operator=(const ProcessorUse&) = delete;

  struct Times {
    int64_t ran_us = 0;
    int64_t waited_us = 0;  // for one
  };
  Times Since() {
    const Times now = Total();
    const Times last = std::exchange(total_, now);
    return {now.ran_us - last.ran_us, now.waited_us - last.waited_us};
  }

 private:
  // "time on a processor, time waiting for one, slices", in nanoseconds.
  Times Total() const {
    char text[128] = {};
    if (fd_ < 0 || pread(fd_, text, sizeof(text) - 1, 0) <= 0) return {};
    char* second = text;
    const int64_t ran_ns = std::strtoll(text, &second, 10);
    return {ran_ns / 1000, std::strtoll(second, nullptr, 10) / 1000};
  }

  const int fd_;
  Times total_;
};

}  // namespace

StallWatch::Turn::Turn(StallWatch& watch) : watch_(watch) {
  watch_.longest_ = "the loop";
  watch_.longest_us_ = 0;
  watch_.what_.store(watch_.longest_, std::memory_order_relaxed);
  watch_.since_us_.store(SteadyUs(), std::memory_order_release);
}

StallWatch::Turn::~Turn() { watch_.EndTurn(); }

void StallWatch::EndTurn() {
  const int64_t now_us = SteadyUs();
  const int64_t since_us = since_us_.exchange(0, std::memory_order_relaxed);
  if (now_us - since_us < kLimitUs) return;
  Note({longest_, Kind::kPrompt, since_us, now_us});
}

StallWatch::Call::Call(StallWatch& watch, const char* what, Kind kind)
    : watch_(watch), what_(what), kind_(kind), since_us_(SteadyUs()), outer_(watch.innermost_) {
  watch_.innermost_ = this;
  watch_.what_.store(what, std::memory_order_relaxed);
  if (kind == Kind::kOwners) watch_.owners_->store(true, std::memory_order_relaxed);
}

StallWatch::Call::~Call() {
  const int64_t now_us = SteadyUs();
  const int64_t took_us = now_us - since_us_;
  watch_.innermost_ = outer_;
  if (outer_ != nullptr) outer_->inner_us_ += took_us;
  watch_.what_.store(outer_ != nullptr ? outer_->what_ : "the loop", std::memory_order_relaxed);
  if (kind_ == Kind::kOwners) {
    watch_.owners_->store(false, std::memory_order_relaxed);
    // The turn without it is what counts.
    const int64_t turn_us = watch_.since_us_.load(std::memory_order_relaxed);
    if (turn_us != 0) watch_.since_us_.store(turn_us + took_us, std::memory_order_relaxed);
    if (took_us >= kLimitUs) watch_.Note({what_, kind_, since_us_, now_us});
    return;
  }
  if (took_us - inner_us_ <= watch_.longest_us_) return;
  watch_.longest_us_ = took_us - inner_us_;
  watch_.longest_ = what_;
}

absl::Status StallWatch::Start() {
  absl::StatusOr<std::thread> thread =
      StartWithoutSignals("watching a client", [this, id = syscall(SYS_gettid)] { Watch(id); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

void StallWatch::Stop() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void StallWatch::Note(const Long& ended) {
  MutexLock lock(mutex_);
  long_.push_back(ended);
}

void StallWatch::Watch(int64_t thread_id) {
  ProcessorUse use(thread_id);
  use.Since();
  StallAccount all(SteadyUs());
  StallAccount waits = all;
  for (;;) {
    const int64_t since_us = since_us_.load(std::memory_order_relaxed);
    const bool closely = since_us != 0 && SteadyUs() - since_us > kLookUs;
    const int64_t sleep_us = closely ? kCloseLookUs : kLookUs;
    {
      MutexLock lock(mutex_);
      const auto next = std::chrono::steady_clock::now() + std::chrono::microseconds(sleep_us);
      while (!stopping_ && changed_.WaitUntil(mutex_, next)) {
      }
      if (stopping_) return;
    }
    const ProcessorUse::Times times = use.Since();
    const int64_t now_us = SteadyUs();
    all.Begin(now_us, sleep_us, times.waited_us);
    waits.Begin(now_us, sleep_us, times.waited_us + times.ran_us);
    Look(all, waits);
  }
}

void StallWatch::Look(StallAccount& all, StallAccount& waits) {
  std::vector<Long> ended;
  {
    MutexLock lock(mutex_);
    ended.swap(long_);
  }
  for (const Long& one : ended) {
    const int64_t took_us = all.Ended(one.since_us, one.end_us);
    Say(one, took_us, waits.Ended(one.since_us, one.end_us));
  }
  const int64_t since_us = since_us_.load(std::memory_order_acquire);
  if (since_us == 0) return;
  const int64_t took_us = all.UnderWay(since_us);
  LookAtTurn(since_us, took_us, waits.UnderWay(since_us));
}

void StallWatch::LookAtTurn(int64_t since_us, int64_t took_us, int64_t waited_us) {
  const bool owners = owners_->load(std::memory_order_relaxed);
  if (took_us >= kSayWhileUs && said_us_ != since_us && !owners) {
    said_us_ = since_us;
    Log().warn("{}: the progress thread {}, since {} ms: {}", name_,
               waited_us >= kLimitUs ? "stands still" : "is busy", took_us / 1000,
               what_.load(std::memory_order_relaxed));
  }
  // The wall counts: a peer that hears nothing from this worker does not care whose fault that is.
  const int64_t lasts_us = SteadyUs() - since_us;
  if (lasts_us >= kStallUs) while_stalled_(lasts_us / 1000);
}

void StallWatch::Say(const Long& ended, int64_t took_us, int64_t waited_us) const {
  if (ended.kind == Kind::kOwners) {
    return Log().info("{}: {} took {} ms", name_, ended.what,
                      (ended.end_us - ended.since_us) / 1000);
  }
  if (took_us < kLimitUs) return;
  Log().warn("{}: the progress thread was {} for {} ms: {}", name_,
             waited_us >= kLimitUs ? "held up" : "busy", took_us / 1000, ended.what);
}

}  // namespace tensorhub::agent
