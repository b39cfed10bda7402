// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Adds up, look by look, how long one call has held a thread up. A look counts only as long as the
// thread could have run: what its process was stopped for, or it waited for a processor, is
// nobody's fault.
//
// Thread contract: one thread at a time. No clock: times are given, in microseconds.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_STALL_ACCOUNT_H_
#define TENSORHUB_WORKER_AGENT_SEEN_STALL_ACCOUNT_H_

#include <algorithm>
#include <cstdint>

namespace tensorhub::agent {

class StallAccount {
 public:
  explicit StallAccount(int64_t now_us) : looked_us_(now_us) {}

  // At each look, first: for how long the looker meant to sleep, and for how long the thread has
  // waited for a processor since the last look. The looker comes late only where it is kept from
  // running itself. So a stop shorter than its sleep goes unseen.
  void Begin(int64_t now_us, int64_t sleep_us, int64_t waited_us) {
    const int64_t could_run_us = now_us - looked_us_ - waited_us;
    counted_us_ = std::clamp<int64_t>(could_run_us, 0, sleep_us + sleep_us / 4);
    before_us_ = looked_us_;
    looked_us_ = now_us;
  }
  // Returns how long the call that began then, and ended, has held the thread up.
  int64_t Ended(int64_t since_us, int64_t end_us) {
    const int64_t held_us = Held(since_us, end_us);
    if (since_us == since_us_) since_us_ = held_us_ = 0;
    return held_us;
  }
  // Returns how long the one that is under way has.
  int64_t UnderWay(int64_t since_us) {
    held_us_ = Held(since_us, looked_us_);
    since_us_ = since_us;
    return held_us_;
  }

 private:
  int64_t Held(int64_t since_us, int64_t end_us) const {
    const int64_t known_us = since_us == since_us_ ? held_us_ : 0;
    const int64_t since_last_us = std::max<int64_t>(end_us - std::max(since_us, before_us_), 0);
    return known_us + std::min(since_last_us, counted_us_);
  }

  int64_t looked_us_;
  int64_t before_us_ = 0;
  int64_t counted_us_ = 0;
  int64_t since_us_ = 0;  // of the call that held_us_ is about
  int64_t held_us_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_STALL_ACCOUNT_H_
