// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which chunks need not be read, since the buffers hold their bytes already (R9). A candidate is a
// chunk whose digest is what it was in the version before; that says where to look, no more: the
// bytes that are there now are hashed, and must give the digest that the source passed on.
//
// Decided span by span, in order, so that reading begins at once and goes as far as is decided. A
// span is a good many chunks: leaving some out of a stream costs a request and its way there.

#ifndef TENSORHUB_WORKER_AGENT_CORE_SKIP_PLAN_H_
#define TENSORHUB_WORKER_AGENT_CORE_SKIP_PLAN_H_

#include <cstdint>
#include <vector>

#include "common/layout.h"
#include "worker_agent/core/digests.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::agent {

// What is known of the buffers' content before this one, from the front.
struct Remembered {
  Chunking chunking;
  Digests digests;
};

class SkipPlan {
 public:
  static constexpr uint32_t kSpanChunks = 32;

  // `last` and `digests`, those of the content to come, outlive the plan.
  SkipPlan(const Chunking& chunking, const Remembered& last, const Digests& digests);

  // A read begins at that chunk. What was decided beyond it rested on another source's digests.
  // `hopes`: chunks of this source may be skipped.
  void Restart(uint32_t chunk, bool hopes);
  // More digests may be known: decides what can be, or asks for a span to be hashed.
  void Advance(uint64_t& next_token, Effects& effects);
  // False if it is not this plan's.
  bool OnHashed(const ChunksHashed& event);

  // From this chunk on those below may be read; it itself if not even that is known.
  uint32_t ReadableEnd(uint32_t chunk) const;
  // From this chunk on those below are as they should be; it itself if there are none.
  uint32_t SameEnd(uint32_t chunk) const;

 private:
  enum class Verdict : uint8_t { kRead, kSame };
  // Spans with one verdict, as many as there are in a row.
  struct Run {
    uint32_t first = 0;
    Verdict verdict = Verdict::kRead;
  };

  void Decide(Verdict verdict);
  // The first span from this one on that is not decided so.
  uint32_t RunEnd(uint32_t span, Verdict verdict) const;
  uint32_t SpanEnd(uint32_t span) const;
  // The first undecided span's case. Nothing: a digest is missing.
  enum class Look { kWait, kDiffers, kCandidate };
  Look LookAtNext() const;

  const Chunking chunking_;
  const Remembered& last_;
  const Digests& digests_;
  bool hopes_ = false;
  uint32_t decided_ = 0;   // spans
  std::vector<Run> runs_;  // of those
  uint64_t token_ = 0;     // of the span that is being hashed, the first undecided
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_SKIP_PLAN_H_
