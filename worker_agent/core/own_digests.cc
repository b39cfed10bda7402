// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/own_digests.h"

#include <algorithm>
#include <utility>

namespace tensorhub::agent {

void OwnDigests::Begin() {
  token_ = 0;
  transfer_.ForgetUnread();
  if (off()) transfer_.digests().SetEnded(true);
}

uint32_t OwnDigests::Advance(uint32_t end, Effects& effects) {
  const uint32_t known = transfer_.digests().known();
  if (off() || known >= end) return end;
  if (token_ == 0) {
    const auto most = static_cast<uint32_t>(std::clamp<uint64_t>(
        transfer_.options().check_bytes / transfer_.chunking().chunk_bytes, 1, kChunkCountMax));
    token_ = transfer_.NextToken();
    effects.emplace_back(HashChunks{token_, transfer_.chunking(), known,
                                    std::min(end - known, most), /*urgent=*/true});
  }
  return known;
}

bool OwnDigests::OnHashed(const ChunksHashed& event) {
  if (token_ == 0 || event.token != token_) return false;
  token_ = 0;
  transfer_.digests().Append(event.digests);
  return true;
}

}  // namespace tensorhub::agent
