// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Hashes boxes of what is published, a batch at a time, for the hub to hold against what the
// group's other ranks have in them (R1). A large box is hashed in parts, and its digest is made of
// theirs: equal boxes have equal parts, wherever they lie in their shards.

#ifndef TENSORHUB_WORKER_AGENT_CORE_BOX_SCAN_H_
#define TENSORHUB_WORKER_AGENT_CORE_BOX_SCAN_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/fingerprint.h"
#include "protocol/messages/directives.h"
#include "protocol/messages/reports.h"
#include "worker_agent/core/effects.h"

namespace tensorhub::agent {

class BoxScan {
 public:
  BoxScan(protocol::HashBoxes asked, uint64_t batch_bytes)
      : asked_(std::move(asked)), batch_bytes_(batch_bytes) {
    answer_.generation = asked_.generation;
    answer_.question = asked_.question;
  }

  bool done() const { return next_ >= asked_.boxes.size(); }
  const protocol::BoxesHashed& answer() const { return answer_; }
  bool Expects(uint64_t token) const { return token_ != 0 && token == token_; }

  void AskOn(uint64_t token, Effects& effects) {
    HashChunks batch;
    batch.token = token_ = token;
    uint64_t bytes = 0;
    for (size_t box = next_, from = begun_; box < asked_.boxes.size() && bytes < batch_bytes_;) {
      const protocol::HashBoxes::Range& whole = asked_.boxes[box];
      const uint64_t part = std::min(whole.bytes - from, kPartBytes);
      batch.ranges.push_back({whole.begin + from, part});
      bytes += part;
      from += part;
      if (from >= whole.bytes) ++box, from = 0;
    }
    batch.count = static_cast<uint32_t>(batch.ranges.size());
    effects.emplace_back(std::move(batch));
  }
  void OnBatch(const std::vector<uint64_t>& digests) {
    token_ = 0;
    for (const uint64_t digest : digests) OnPart(digest);
  }

 private:
  static constexpr uint64_t kPartBytes = uint64_t{1} << 20;

  void OnPart(uint64_t digest) {
    const uint64_t whole = asked_.boxes[next_].bytes;
    begun_ += std::min(whole - begun_, kPartBytes);
    ByteWriter(parts_).Put(digest);
    if (begun_ < whole) return;
    const bool alone = parts_.size() == sizeof(digest);
    answer_.digests.push_back(alone ? digest : FingerprintOf(parts_).lo);
    parts_.clear();
    begun_ = 0;
    ++next_;
  }

  const protocol::HashBoxes asked_;
  const uint64_t batch_bytes_;
  protocol::BoxesHashed answer_;
  size_t next_ = 0;     // the box at hand
  uint64_t begun_ = 0;  // of it, so many bytes are hashed
  std::string parts_;   // their digests
  uint64_t token_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_BOX_SCAN_H_
