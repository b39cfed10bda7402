// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The chunk digests of what the buffers hold (docs/protocol/digests.md): XXH3-64 of each chunk's
// bytes in canonical order. They are made once, by the publisher, and passed on from source to
// reader, so that whoever checks holds what it got against what was published. Known from the
// front, as the chunks themselves.

#ifndef TENSORHUB_WORKER_AGENT_CORE_DIGESTS_H_
#define TENSORHUB_WORKER_AGENT_CORE_DIGESTS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "common/content_identity.h"

namespace tensorhub::agent {

class Digests {
 public:
  uint32_t known() const { return static_cast<uint32_t>(list_.size()); }
  // No more are to come: the publisher makes none, or somebody on the way here does not pass them
  // on. What lies beyond is not checked.
  bool ended() const { return ended_; }
  bool AllThereFor(uint32_t chunks) const { return ended_ || known() >= chunks; }
  uint64_t of(uint32_t chunk) const {
    TH_CHECK(chunk < known());
    return list_[chunk];
  }

  // R1: of the whole content; none while some are not known.
  ContentDigest Whole(const Fingerprint& layout, const Chunking& chunking) const {
    if (known() < chunking.count()) return {};
    if (!whole_) whole_ = ShardDigest(layout, chunking, list_);
    return whole_;
  }

  void Reset() { *this = Digests(); }
  void Append(const std::vector<uint64_t>& digests) {
    list_.insert(list_.end(), digests.begin(), digests.end());
    whole_ = {};
  }
  // The first `count` are those of `other`, as far as it knows them; what lies beyond stays.
  void TakeFront(const Digests& other, uint32_t count) {
    count = std::min(count, other.known());
    if (known() < count) list_.resize(count);
    std::copy_n(other.list_.begin(), count, list_.begin());
    whole_ = {};
  }
  void SetEnded(bool ended) { ended_ = ended; }
  // The digests of the chunks from there on are asked for anew.
  void ForgetFrom(uint32_t chunk) {
    if (chunk < known()) list_.resize(chunk);
    ended_ = false;
    whole_ = {};
  }

 private:
  std::vector<uint64_t> list_;
  bool ended_ = false;
  mutable ContentDigest whole_;  // once it was asked for
};

// One message's worth: they travel in the header's text, which transports carry whole.
inline constexpr uint32_t kDigestsPerMessage = 128;

std::string EncodeDigests(const Digests& digests, uint32_t first, uint32_t count);
// Nothing for bytes that EncodeDigests would not have written.
std::optional<std::vector<uint64_t>> DecodeDigests(std::string_view text);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_DIGESTS_H_
