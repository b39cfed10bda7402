// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/skip_plan.h"

#include <algorithm>
#include <iterator>

namespace tensorhub::agent {

SkipPlan::SkipPlan(const Chunking& chunking, const Remembered& last, const Digests& digests)
    : chunking_(chunking), last_(last), digests_(digests) {}

void SkipPlan::Restart(uint32_t chunk, bool hopes) {
  hopes_ = hopes && last_.chunking == chunking_ && last_.digests.known() > chunk;
  // A span that is valid in part is read to its end.
  decided_ = (chunk + kSpanChunks - 1) / kSpanChunks;
  runs_.assign(1, Run{});
  token_ = 0;
}

void SkipPlan::Decide(Verdict verdict) {
  if (runs_.back().verdict != verdict) runs_.push_back({decided_, verdict});
  ++decided_;
}

uint32_t SkipPlan::RunEnd(uint32_t span, Verdict verdict) const {
  if (span >= decided_) return span;
  const auto next = std::upper_bound(runs_.begin(), runs_.end(), span,
                                     [](uint32_t at, const Run& run) { return at < run.first; });
  if (std::prev(next)->verdict != verdict) return span;
  return next == runs_.end() ? decided_ : next->first;
}

uint32_t SkipPlan::SpanEnd(uint32_t span) const {
  return std::min((span + 1) * kSpanChunks, chunking_.count());
}

SkipPlan::Look SkipPlan::LookAtNext() const {
  const uint32_t span = decided_;
  for (uint32_t chunk = span * kSpanChunks; chunk < SpanEnd(span); ++chunk) {
    if (chunk >= last_.digests.known()) return Look::kDiffers;
    if (chunk >= digests_.known()) return digests_.ended() ? Look::kDiffers : Look::kWait;
    if (digests_.of(chunk) != last_.digests.of(chunk)) return Look::kDiffers;
  }
  return Look::kCandidate;
}

void SkipPlan::Advance(uint64_t& next_token, Effects& effects) {
  if (!hopes_) return;
  while (token_ == 0 && decided_ * kSpanChunks < chunking_.count()) {
    const Look look = LookAtNext();
    if (look == Look::kWait) return;
    if (look == Look::kDiffers) {
      Decide(Verdict::kRead);
      continue;
    }
    const uint32_t span = decided_;
    const uint32_t first = span * kSpanChunks;
    token_ = next_token++;
    effects.emplace_back(
        HashChunks{token_, chunking_, first, SpanEnd(span) - first, /*urgent=*/false});
  }
}

bool SkipPlan::OnHashed(const ChunksHashed& event) {
  if (token_ == 0 || event.token != token_) return false;
  token_ = 0;
  const uint32_t span = decided_;
  const uint32_t first = span * kSpanChunks;
  bool same = event.digests.size() == SpanEnd(span) - first;
  for (uint32_t chunk = first; same && chunk < SpanEnd(span); ++chunk) {
    same = chunk < digests_.known() && event.digests[chunk - first] == digests_.of(chunk);
  }
  Decide(same ? Verdict::kSame : Verdict::kRead);
  return true;
}

uint32_t SkipPlan::ReadableEnd(uint32_t chunk) const {
  if (!hopes_) return chunking_.count();
  const uint32_t span = RunEnd(chunk / kSpanChunks, Verdict::kRead);
  return std::max(chunk, std::min(span * kSpanChunks, chunking_.count()));
}

uint32_t SkipPlan::SameEnd(uint32_t chunk) const {
  if (!hopes_ || chunk % kSpanChunks != 0) return chunk;
  const uint32_t span = RunEnd(chunk / kSpanChunks, Verdict::kSame);
  return std::max(chunk, std::min(span * kSpanChunks, chunking_.count()));
}

}  // namespace tensorhub::agent
