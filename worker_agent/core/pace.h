// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How fast a stream's bytes come, against the best that they came at: a path between datacenters
// may fall ill without dying. Where it is known to lose much, less of a fall shows it. Times are
// milliseconds.
//
// Thread contract: one thread.

#ifndef TENSORHUB_WORKER_AGENT_CORE_PACE_H_
#define TENSORHUB_WORKER_AGENT_CORE_PACE_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/time.h"

namespace tensorhub::agent {

class Pace {
 public:
  // Sharers of a link come and go, tens of them; a sick path has a hundredth.
  static constexpr double kSickShare = 1.0 / 32;
  // A path that loses much all the while is held to this of the best time between two judgements,
  // since what comes behind a loss comes at once. A flow that begins loses much, too, but not for
  // long.
  static constexpr double kLossyShare = 3.0 / 4;

  // A read begins, or nothing was due until now.
  void Begin(TimeMs now) {
    since_ = now;
    bytes_ = 0;
    burst_since_.reset();
    ForgetLoss();
  }

  void Arrived(uint64_t bytes, TimeMs now) {
    bytes_ += bytes;
    const TimeMs burst_ms = burst_since_ ? now - *burst_since_ : 0;
    if (burst_since_ && burst_ms < kBurstMs) {
      burst_bytes_ += bytes;
      return;
    }
    if (burst_since_) {
      best_ = std::max(best_, static_cast<double>(burst_bytes_) / static_cast<double>(burst_ms));
    }
    // This message took an unknown time to come, so it does not count. A thin link, on which each
    // is a burst of its own, has no best rate.
    burst_since_ = now;
    burst_bytes_ = 0;
  }

  // As the transport says of the path.
  void NoteLoss(bool lossy) { (lossy ? lossy_ : sound_) = true; }

  TimeMs since() const { return since_; }

  // Once in so many milliseconds, of which it judges; in between false.
  bool IsSick(TimeMs now, TimeMs after) {
    const TimeMs elapsed = now - since_;
    if (elapsed < after) return false;
    const double rate = static_cast<double>(bytes_) / static_cast<double>(elapsed);
    const bool loses = lossy_ && !sound_;
    const bool sick = rate < kSickShare * best_ || (loses && rate < kLossyShare * best_whole_);
    best_whole_ = std::max(best_whole_, rate);
    since_ = now;
    bytes_ = 0;
    ForgetLoss();
    return sick;
  }

 private:
  static constexpr TimeMs kBurstMs = 250;

  void ForgetLoss() { lossy_ = sound_ = false; }

  TimeMs since_ = 0;
  uint64_t bytes_ = 0;
  std::optional<TimeMs> burst_since_;
  uint64_t burst_bytes_ = 0;
  double best_ = 0;        // bytes in a millisecond
  double best_whole_ = 0;  // the same, over all of the time between two judgements
  bool lossy_ = false;     // was said since then
  bool sound_ = false;     // the contrary was
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_PACE_H_
