// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/unfinished.h"

#include <utility>

namespace tensorhub::rpc {

using Clock = std::chrono::steady_clock;

Unfinished::Unfinished(std::chrono::milliseconds patience)
    : patience_(patience), thread_([this] { Run(); }) {}

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
  calls_.emplace(++last_, Call{Clock::now() + patience_, std::move(cancel)});
  return last_;
}

void Unfinished::Remove(Ticket ticket) {
  MutexLock lock(mutex_);
  calls_.erase(ticket);
}

// Looks a few times in the time that a message has: nearly all have come by then, and nobody has to
// be woken for each.
void Unfinished::Run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    const Clock::time_point now = Clock::now();
    while (!calls_.empty() && calls_.begin()->second.until <= now) {
      calls_.begin()->second.cancel();
      calls_.erase(calls_.begin());
    }
    const Clock::time_point next = now + patience_ / 4;
    while (!stopping_ && wake_.WaitUntil(mutex_, next)) continue;
  }
}

}  // namespace tensorhub::rpc
