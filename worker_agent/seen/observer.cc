// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/observer.h"

#include <chrono>
#include <optional>

namespace tensorhub::agent {

void Observer::Pass(int64_t now_us) {
  passed_us_ = now_us;
  reading_.CountTime(now_us);
  const Tally read = reading_.Take();
  const Tally served = serving_.Take();
  if (targets_.trace != nullptr) Trace(now_us);
  if (targets_.tally == nullptr) return;
  if (read != Tally{}) targets_.tally->Add(read);
  if (served != Tally{}) targets_.tally->Add(served);
}

// Times of several hosts are put together by their clocks of the day.
void Observer::Trace(int64_t now_us) {
  const int64_t wall_us = std::chrono::duration_cast<std::chrono::microseconds>(
                              std::chrono::system_clock::now().time_since_epoch())
                              .count();
  if (const std::optional<FetchRecord> fetch = reading_.TakeEnded()) {
    lines_.Add(*fetch, wall_us - now_us);
  }
  for (const ServeRecord& serve : serving_.TakeEnded()) lines_.Add(serve, wall_us - now_us);
  const std::string lines = lines_.Take();
  if (!lines.empty()) targets_.trace->Add(lines);
}

}  // namespace tensorhub::agent
