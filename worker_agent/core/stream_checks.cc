// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What has arrived becomes sound: confirmed (R4), and held against its digest.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "worker_agent/core/stream.h"

namespace tensorhub::agent {

// R9: they continue those that are known, and there are no more of them than chunks.
void Stream::OnDigests(const PeerMessage& message, Effects& effects) {
  Digests& known = transfer_.digests();
  const auto digests = DecodeDigests(message.text);
  if (!digests || !Continues(message, *digests)) {
    return Fail(absl::InternalError("the source's digests do not fit the version's chunks"),
                effects);
  }
  source_->spoke_of_digests = true;
  // One of several sources says it first; or it is said on two connections (see OnData).
  const uint32_t twice = known.known() - message.chunk;
  if (twice > digests->size()) return;
  // Taken back: what had arrived without need of a hash may want one.
  if (known.ended()) {
    source_->next_hash = transfer_.valid_chunks();
    source_->ranges.next_hash = source_->ranges.sound;
  }
  known.Append({digests->begin() + twice, digests->end()});
  known.SetEnded((message.flags & kFlagNoMoreDigests) != 0);
  moved_ = CheckList(effects);
}

// What was said before, by this source or by another of several, may be said again, and has to be
// the same: digests of one version that differ are not its digests, whoever is right.
bool Stream::Continues(const PeerMessage& message, const std::vector<uint64_t>& digests) const {
  const Digests& known = transfer_.digests();
  if (message.chunk > known.known()) return false;
  if (digests.size() > chunking().count() - message.chunk) return false;
  for (uint32_t chunk = message.chunk; const uint64_t digest : digests) {
    if (chunk < known.known() && known.of(chunk) != digest) return false;
    ++chunk;
  }
  return true;
}

bool Stream::CheckList(Effects& effects) {
  const absl::Status status = transfer_.CheckList();
  if (status.ok()) return true;
  if (assigned_->ranges) transfer_.ForgetUnproven();
  Fail(status, effects);
  return false;
}

uint32_t Stream::Arrived() const {
  if (source_->phase == Phase::kOneSided) return source_->got;
  if (source_->phase != Phase::kServed) return transfer_.valid_chunks();
  const uint64_t received = source_->received;
  if (received >= chunking().total_bytes) return chunking().count();
  return static_cast<uint32_t>(received / chunking().chunk_bytes);
}

// The chunk's digest has not come with it.
bool Stream::WantsHash(uint32_t chunk) const {
  return transfer_.IsHeldAgainstDigest(chunk, source_->checked) && !source_->hashed.Of(chunk);
}

// On arrival, before they are confirmed, so that hashing delays a commit by a run's time at most.
// Nothing writes to a chunk that has arrived, and a digest counts only once the chunk is confirmed.
// Of a one-sided read only the reader's core is busy, so that the source's may help (`beside`).
void Stream::HashArrived(Effects& effects) {
  if (!source_ || !source_->checked) return;
  if (source_->phase == Phase::kRanges) return HashRanges(effects);
  const bool beside = source_->phase == Phase::kOneSided;
  const uint32_t most = HashedAtOnce();
  const uint32_t arrived = Arrived();
  for (uint32_t& next = source_->next_hash; next < arrived;) {
    const uint32_t first = next;
    while (next < arrived && next - first < most && WantsHash(next)) ++next;
    if (next == first) {
      ++next;
      continue;
    }
    StartHashing(first, next - first, beside, effects);
  }
}

uint32_t Stream::HashedAtOnce() const {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(options().check_bytes / chunking().chunk_bytes, 1, kChunkCountMax));
}

void Stream::StartHashing(uint32_t first, uint32_t count, bool beside, Effects& effects) {
  const uint64_t token = transfer_.NextToken();
  source_->hashing[token] = first;
  effects.emplace_back(HashChunks{token, chunking(), first, count, /*urgent=*/true, beside});
}

void Stream::OnHashed(const ChunksHashed& event) {
  if (!source_) return;
  const auto found = source_->hashing.find(event.token);
  if (found == source_->hashing.end()) return;
  uint32_t chunk = found->second;
  for (const uint64_t digest : event.digests) {
    if (chunk >= transfer_.valid_chunks()) source_->hashed.Set(chunk, digest);
    ++chunk;
  }
  source_->hashing.erase(found);
  moved_ = true;
}

// R4: whole, and confirmed under the assigned generation. Served, by a message that the source sent
// after its own sends had completed; one-sided, by the word. What was not confirmed is not judged:
// it may be torn, and then nothing is wrong with the source.
uint32_t Stream::SoundEnd() {
  uint32_t chunk = transfer_.valid_chunks();
  if (!source_) return chunk;
  const uint32_t limit = std::min(Arrived(), source_->confirmed);
  for (; chunk < limit; ++chunk) {
    const auto verdict = transfer_.Judge(chunk, source_->checked, source_->hashed.Of(chunk));
    if (verdict == Transfer::Verdict::kBad) source_->bad = chunk;
    if (verdict != Transfer::Verdict::kGood) break;
  }
  source_->hashed.ForgetBelow(chunk);
  return chunk;
}

void Stream::FailIfBad(Effects& effects) {
  if (!source_ || !source_->bad) return;
  Fail(absl::DataLossError(absl::StrCat("chunk ", *source_->bad, " of ", chunking().count(),
                                        " differs from its digest")),
       effects);
}

}  // namespace tensorhub::agent
