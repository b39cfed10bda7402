// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where a source ends its frames. A frame of few pieces of memory travels straight from them, best
// if it is one piece; one of many is gathered first, which over TCP costs a copy of the whole
// frame. So frames end where a large piece begins or ends, and where a few middling ones do.

#ifndef TENSORHUB_WORKER_AGENT_CORE_FRAME_PLAN_H_
#define TENSORHUB_WORKER_AGENT_CORE_FRAME_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tensorhub::agent {

class FramePlan {
 public:
  // `piece_begins`: where the contiguous pieces of memory begin in the byte space, ascending, the
  // first at 0; empty if that is not known, and then nothing is cut.
  FramePlan() = default;
  FramePlan(std::vector<uint64_t> piece_begins, uint64_t total_bytes, uint64_t frame_bytes)
      : begins_(std::move(piece_begins)), total_bytes_(total_bytes), frame_bytes_(frame_bytes) {}

  // The end of the frame that starts at `begin`: at most `end`, and above `begin`.
  uint64_t EndOfFrame(uint64_t begin, uint64_t end) const;

 private:
  bool IsLarge(size_t piece) const;

  std::vector<uint64_t> begins_;
  uint64_t total_bytes_ = 0;
  uint64_t frame_bytes_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_FRAME_PLAN_H_
