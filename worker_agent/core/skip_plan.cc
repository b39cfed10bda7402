// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/skip_plan.h"

#include <algorithm>

namespace tensorhub::agent {

SkipPlan::SkipPlan(const Chunking& chunking, const Remembered& last, const Digests& digests)
    : chunking_(chunking), last_(last), digests_(digests) {}

void SkipPlan::Restart(uint32_t chunk, bool hopes) {
  hopes_ = hopes && last_.chunking == chunking_ && last_.digests.known() > chunk;
  // A span that is valid in part is read to its end.
  spans_.assign((chunk + kSpanChunks - 1) / kSpanChunks, Verdict::kRead);
  token_ = 0;
}

uint32_t SkipPlan::SpanEnd(uint32_t span) const {
  return std::min((span + 1) * kSpanChunks, chunking_.count());
}

SkipPlan::Look SkipPlan::LookAtNext() const {
  const auto span = static_cast<uint32_t>(spans_.size());
  for (uint32_t chunk = span * kSpanChunks; chunk < SpanEnd(span); ++chunk) {
    if (chunk >= last_.digests.known()) return Look::kDiffers;
    if (chunk >= digests_.known()) return digests_.ended() ? Look::kDiffers : Look::kWait;
    if (digests_.of(chunk) != last_.digests.of(chunk)) return Look::kDiffers;
  }
  return Look::kCandidate;
}

void SkipPlan::Advance(uint64_t& next_token, Effects& effects) {
  if (!hopes_) return;
  while (token_ == 0 && spans_.size() * kSpanChunks < chunking_.count()) {
    const Look look = LookAtNext();
    if (look == Look::kWait) return;
    if (look == Look::kDiffers) {
      spans_.push_back(Verdict::kRead);
      continue;
    }
    const auto span = static_cast<uint32_t>(spans_.size());
    const uint32_t first = span * kSpanChunks;
    token_ = next_token++;
    effects.emplace_back(
        HashChunks{token_, chunking_, first, SpanEnd(span) - first, /*urgent=*/false});
  }
}

bool SkipPlan::OnHashed(const ChunksHashed& event) {
  if (token_ == 0 || event.token != token_) return false;
  token_ = 0;
  const auto span = static_cast<uint32_t>(spans_.size());
  const uint32_t first = span * kSpanChunks;
  bool same = event.digests.size() == SpanEnd(span) - first;
  for (uint32_t chunk = first; same && chunk < SpanEnd(span); ++chunk) {
    same = chunk < digests_.known() && event.digests[chunk - first] == digests_.of(chunk);
  }
  spans_.push_back(same ? Verdict::kSame : Verdict::kRead);
  return true;
}

uint32_t SkipPlan::ReadableEnd(uint32_t chunk) const {
  if (!hopes_) return chunking_.count();
  uint32_t span = chunk / kSpanChunks;
  while (span < spans_.size() && spans_[span] == Verdict::kRead) ++span;
  return std::max(chunk, std::min(span * kSpanChunks, chunking_.count()));
}

uint32_t SkipPlan::SameEnd(uint32_t chunk) const {
  if (!hopes_ || chunk % kSpanChunks != 0) return chunk;
  uint32_t span = chunk / kSpanChunks;
  while (span < spans_.size() && spans_[span] == Verdict::kSame) ++span;
  return std::max(chunk, std::min(span * kSpanChunks, chunking_.count()));
}

}  // namespace tensorhub::agent
