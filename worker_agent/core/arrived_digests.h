// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The digests of what has arrived and is not committed yet. By position: chunks come in about the
// order in which they are committed, and of a device's 2 TB/s each has 200 ns for everything.

#ifndef TENSORHUB_WORKER_AGENT_CORE_ARRIVED_DIGESTS_H_
#define TENSORHUB_WORKER_AGENT_CORE_ARRIVED_DIGESTS_H_

#include <cstdint>
#include <deque>
#include <optional>

namespace tensorhub::agent {

class ArrivedDigests {
 public:
  // As far from the others as a read's window is long, at most.
  void Set(uint32_t chunk, uint64_t digest) {
    if (list_.empty()) first_ = chunk;
    while (chunk < first_) {
      list_.emplace_front();
      --first_;
    }
    if (chunk - first_ >= list_.size()) list_.resize(chunk - first_ + 1);
    list_[chunk - first_] = digest;
  }
  std::optional<uint64_t> Of(uint32_t chunk) const {
    const bool within = chunk >= first_ && chunk - first_ < list_.size();
    return within ? list_[chunk - first_] : std::nullopt;
  }
  // Committed chunks are not asked about any more.
  void ForgetBelow(uint32_t chunk) {
    for (; !list_.empty() && first_ < chunk; ++first_) list_.pop_front();
  }

 private:
  uint32_t first_ = 0;
  std::deque<std::optional<uint64_t>> list_;  // from that chunk on
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_ARRIVED_DIGESTS_H_
