// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/transfer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tensorhub::agent {
namespace {

// Between two words to the fetch's caller.
constexpr TimeMs kShowEveryMs = 100;

// The smaller it is, the less a slow source holds up; the larger, the fewer words it takes.
constexpr uint64_t kBlockBytesMax = 8 << 20;
constexpr uint64_t kBlocksInWindow = 4;
// The share of a shard, at most, that may come in front of its turn.
constexpr uint64_t kAheadShare = 32;

std::string ShortName(const WorkerKey& key) { return absl::StrCat(key.group, "/", key.rank); }

}  // namespace

// Tokens are unique within the process, so reads numbered from them are too.
Transfer::Transfer(const CoreOptions& options, const TransactionId& transaction,
                   Reference& reference, Digests& digests, const Remembered& last,
                   uint64_t& next_token, bool in_outage, TimeMs now)
    : options_(options),
      transaction_(transaction),
      reference_(reference),
      digests_(digests),
      next_token_(next_token),
      skips_(reference.content().chunking, last, digests),
      source_chunk_bytes_(reference.content().chunking.chunk_bytes),
      next_read_(next_token++ << 20),
      window_bytes_(options.window_bytes),
      in_outage_(in_outage),
      told_at_(now) {}

uint32_t Transfer::WindowChunks() const {
  const uint64_t chunks = window_bytes_ / chunking().chunk_bytes;
  return static_cast<uint32_t>(std::clamp<uint64_t>(chunks, 2, kChunkCountMax));
}

uint64_t Transfer::BlockBytes() const {
  return std::min(kBlockBytesMax, options_.window_bytes / kBlocksInWindow);
}

void Transfer::WidenWindowTo(uint64_t most) {
  window_bytes_ = std::max(window_bytes_, std::min(2 * window_bytes_, most));
}

// What comes far ahead of the prefix comes in its stead, where the reader's own link is full.
// Whoever follows is late by as much for good.
void Transfer::WidenWindowForOthers() {
  WidenWindowTo(std::min(options_.window_bytes_max, chunking().total_bytes / kAheadShare));
}

bool Transfer::IsProven() const {
  return wanted_ && digests_.Whole(reference_.content().layout, chunking()) == wanted_;
}

absl::Status Transfer::CheckList() const {
  if (MayBelieve() || !digests_.AllThereFor(chunking().count())) return absl::OkStatus();
  const bool whole = digests_.known() >= chunking().count();
  const std::string version = absl::StrCat(reference_.content().version);
  return whole
             ? absl::DataLossError("its digests are not those of version " + version)
             : absl::FailedPreconditionError("it does not know the digests of version " + version);
}

Transfer::Verdict Transfer::Judge(uint32_t chunk, bool checked,
                                  std::optional<uint64_t> hashed) const {
  if (!MayBelieve()) return Verdict::kPending;
  if (!checked) {
    // A reader of this worker may want to check: a list that is not whole now would stay so.
    const bool last = chunk + 1 == chunking().count();
    const bool waits = last && !digests_.AllThereFor(chunking().count());
    return waits ? Verdict::kPending : Verdict::kGood;
  }
  if (chunk >= digests_.known()) return digests_.ended() ? Verdict::kGood : Verdict::kPending;
  if (!hashed) return Verdict::kPending;
  return *hashed == digests_.of(chunk) ? Verdict::kGood : Verdict::kBad;
}

void Transfer::AdvanceSkips(Effects& effects) {
  if (MayBelieve()) skips_.Advance(next_token_, effects);
}

void Transfer::OnTurned(const protocol::Assign& assign, bool fresh) {
  if (fresh) {
    absl::StrAppend(&sources_, sources_.empty() ? "" : ", ", ShortName(assign.source.key));
  }
  tell_every_ms_ = assign.progress_ms;
  // A source without digests is assigned without. What is proven stays so, and the other sources of
  // a read of ranges have them.
  if (assign.digest || !(assign.ranges || IsProven())) wanted_ = assign.digest;
}

void Transfer::Grow(uint32_t end, uint64_t& tally, Effects& effects) {
  const uint64_t before = chunking().begin(valid_chunks());
  tally += std::min(chunking().begin(end), chunking().total_bytes) - before;
  reference_.Grow(end, effects);
}

// The last chunk is not reported: FinishRead follows at once, and says that all is there.
void Transfer::TellProgress(const WorkerKey* source, const std::string& way, TimeMs now,
                            Effects& effects) {
  if (!complete() && now - told_at_ >= tell_every_ms_) {
    told_at_ = now;
    effects.emplace_back(SessionSend{protocol::Progress{
        reference_.content().publication, reference_.generation(), valid_chunks(), way}});
  }
  if (complete() || now - shown_at_ >= kShowEveryMs) {
    shown_at_ = now;
    Show(source, effects);
  }
}

void Transfer::Show(const WorkerKey* source, Effects& effects) const {
  FetchAdvanced advanced;
  advanced.version = reference_.content().version;
  advanced.bytes_done = std::min(chunking().begin(valid_chunks()), chunking().total_bytes);
  advanced.bytes_total = chunking().total_bytes;
  if (source != nullptr) advanced.source = ShortName(*source);
  effects.emplace_back(std::move(advanced));
}

}  // namespace tensorhub::agent
