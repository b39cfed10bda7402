// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Hashes what the buffers hold from the front, a batch at a time: to make the digests of what was
// published, or to hold what is there against them (R8). It goes with the generation: what comes
// of an earlier one has a token that nobody knows.

#ifndef TENSORHUB_WORKER_AGENT_CORE_CONTENT_SCAN_H_
#define TENSORHUB_WORKER_AGENT_CORE_CONTENT_SCAN_H_

#include <algorithm>
#include <cstdint>

#include "common/layout.h"
#include "worker_agent/core/effects.h"

namespace tensorhub::agent {

class ContentScan {
 public:
  enum class Purpose { kMake, kCheck };

  // Chunks below `end`, in batches of so many bytes, at least one chunk.
  ContentScan(Purpose purpose, const Chunking& chunking, uint32_t end, uint64_t batch_bytes)
      : purpose_(purpose), chunking_(chunking), end_(end), batch_bytes_(batch_bytes) {}

  Purpose purpose() const { return purpose_; }
  bool done() const { return next_ >= end_; }
  bool Expects(uint64_t token) const { return token_ != 0 && token == token_; }
  // The first chunk of the batch under way.
  uint32_t first() const { return next_; }

  void AskOn(uint64_t token, Effects& effects) {
    const uint64_t chunks = std::max<uint64_t>(batch_bytes_ / chunking_.chunk_bytes, 1);
    count_ = static_cast<uint32_t>(std::min<uint64_t>(chunks, end_ - next_));
    token_ = token;
    effects.emplace_back(HashChunks{token, chunking_, next_, count_, /*urgent=*/false});
  }
  void OnBatch() {
    next_ += count_;
    token_ = 0;
  }

 private:
  Purpose purpose_;
  Chunking chunking_;
  uint32_t end_;
  uint64_t batch_bytes_;
  uint32_t next_ = 0;
  uint32_t count_ = 0;
  uint64_t token_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_CONTENT_SCAN_H_
