// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/frame_plan.h"

#include <algorithm>

#include "worker_agent/core/transport.h"

namespace tensorhub::agent {

// A frame more costs about as much as copying a quarter of one.
bool FramePlan::IsLarge(size_t piece) const {
  const uint64_t end = piece + 1 < begins_.size() ? begins_[piece + 1] : total_bytes_;
  return end - begins_[piece] >= frame_bytes_ / 4;
}

uint64_t FramePlan::EndOfFrame(uint64_t begin, uint64_t end) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), begin);
  if (after == begins_.begin()) return end;
  const size_t first = static_cast<size_t>(after - begins_.begin());
  for (size_t next = first; next < begins_.size(); ++next) {
    if (begins_[next] >= end) return end;
    if (IsLarge(next - 1) || IsLarge(next)) return begins_[next];
    const bool full = next - first + 1 == kPiecesInPlace;
    if (full && begins_[next] - begin >= frame_bytes_ / 2) return begins_[next];
  }
  return end;
}

}  // namespace tensorhub::agent
