// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/own_digests.h"

#include <algorithm>

namespace tensorhub::agent {

void OwnDigests::Begin() {
  transfer_.ForgetUnread();
  asked_ = transfer_.digests().known();
  hashing_.clear();
  hashed_ = ArrivedDigests();
}

uint32_t OwnDigests::Advance(uint32_t end, Effects& effects) {
  const bool made = transfer_.options().digests != DigestMode::kOff || !transfer_.MayBelieve();
  transfer_.digests().SetEnded(!made);
  if (!made) return end;
  const auto most = static_cast<uint32_t>(std::clamp<uint64_t>(
      transfer_.options().check_bytes / transfer_.chunking().chunk_bytes, 1, kChunkCountMax));
  while (asked_ < end) {
    const uint32_t count = std::min(end - asked_, most);
    const uint64_t token = transfer_.NextToken();
    hashing_[token] = asked_;
    effects.emplace_back(HashChunks{token, transfer_.chunking(), asked_, count, /*urgent=*/true});
    asked_ += count;
  }
  return std::min(end, transfer_.digests().known());
}

bool OwnDigests::OnHashed(const ChunksHashed& event) {
  const auto run = hashing_.extract(event.token);
  if (run.empty()) return false;
  uint32_t chunk = run.mapped();
  for (const uint64_t digest : event.digests) hashed_.Set(chunk++, digest);
  Digests& known = transfer_.digests();
  while (const auto next = hashed_.Of(known.known())) known.Append({*next});
  hashed_.ForgetBelow(known.known());
  return true;
}

}  // namespace tensorhub::agent
