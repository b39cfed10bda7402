// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whether a path loses what it should carry. A flow that finds its rate loses a segment now and
// then, and what was sent behind that comes early; on a path that drops each twentieth segment
// there is always one missing.
//
// Thread contract: one thread. Times are milliseconds.

#ifndef TENSORHUB_WORKER_AGENT_TCP_LOSS_GAUGE_H_
#define TENSORHUB_WORKER_AGENT_TCP_LOSS_GAUGE_H_

#include <cstdint>

#include "worker_agent/tcp/sockets.h"

namespace tensorhub::agent {

class LossGauge {
 public:
  // Judges the last half second that is over, or longer, if little came. `counts`: of all so far.
  bool IsLossy(const SegmentCounts& counts, int64_t now) {
    if (counts.all == 0) return false;
    const uint32_t all = counts.all - last_.all;
    const uint64_t early = uint32_t{counts.early - last_.early};
    if (now < since_ + kOverMs || all < kSegmentsMin) return lossy_;
    lossy_ = early * kEarlyShare >= all;
    last_ = counts;
    since_ = now;
    return lossy_;
  }

 private:
  static constexpr int64_t kOverMs = 500;
  static constexpr uint32_t kSegmentsMin = 100;
  static constexpr uint64_t kEarlyShare = 5;  // one of so many

  SegmentCounts last_;
  int64_t since_ = 0;
  bool lossy_ = false;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TCP_LOSS_GAUGE_H_
