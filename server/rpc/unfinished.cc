// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/unfinished.h"

#include <malloc.h>

#include <utility>

#include "common/thread.h"

namespace tensorhub::rpc {

using SteadyClock = std::chrono::steady_clock;

Unfinished::Unfinished(std::chrono::milliseconds patience)
    : patience_(patience), thread_(StartThreadOrEnd("calls that hang", [this] { Run(); })) {}

Unfinished::~Unfinished() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
}

Unfinished::Ticket Unfinished::Add(std::function<void()> cancel) {
  MutexLock lock(mutex_);
  calls_.emplace(++last_, Call{SteadyClock::now() + patience_, std::move(cancel)});
  return last_;
}

void Unfinished::Remove(Ticket ticket) {
  MutexLock lock(mutex_);
  calls_.erase(ticket);
}

// Looks a few times in the time that a message has: nearly all have come by then, and nobody has to
// be woken for each.
void Unfinished::Run() {
  bool freed = false;
  MutexLock lock(mutex_);
  while (!stopping_) {
    const bool hung_up = HangUpLocked();
    if (freed) GiveBackLocked();
    freed = hung_up;
    const SteadyClock::time_point next = SteadyClock::now() + patience_ / 4;
    while (!stopping_ && wake_.WaitUntil(mutex_, next)) continue;
  }
}

// Whether on anybody.
bool Unfinished::HangUpLocked() {
  const SteadyClock::time_point now = SteadyClock::now();
  const size_t before = calls_.size();
  while (!calls_.empty() && calls_.begin()->second.until <= now) {
    calls_.begin()->second.cancel();
    calls_.erase(calls_.begin());
  }
  return calls_.size() != before;
}

// To the system: what gRPC has freed since is of many small pieces, which malloc keeps. That takes
// a while.
void Unfinished::GiveBackLocked() {
  mutex_.Unlock();
  malloc_trim(0);
  mutex_.Lock();
}

}  // namespace tensorhub::rpc
