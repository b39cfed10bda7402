// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How fast a reader's connection takes bytes, as the completions of its sends tell.

#ifndef TENSORHUB_WORKER_AGENT_CORE_SEND_RATE_H_
#define TENSORHUB_WORKER_AGENT_CORE_SEND_RATE_H_

#include <cstdint>
#include <optional>

#include "common/time.h"

namespace tensorhub::agent {

class SendRate {
 public:
  void OnSent(uint64_t bytes, TimeMs now) {
    const TimeMs elapsed = now - since_;
    if (elapsed > kPauseMs) {  // the first one, or there was nothing to send
      since_ = now;
      bytes_ = 0;
      return;
    }
    bytes_ += bytes;
    if (elapsed < kWindowMs) return;
    per_ms_ = bytes_ / static_cast<uint64_t>(elapsed);
    since_ = now;
    bytes_ = 0;
  }

  // Nothing before the first whole window.
  std::optional<uint64_t> BytesIn(TimeMs ms) const {
    if (!per_ms_) return std::nullopt;
    return *per_ms_ * static_cast<uint64_t>(ms);
  }

 private:
  static constexpr TimeMs kWindowMs = 100;
  static constexpr TimeMs kPauseMs = 500;

  TimeMs since_ = -2 * kPauseMs;
  uint64_t bytes_ = 0;
  std::optional<uint64_t> per_ms_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_SEND_RATE_H_
