// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What has arrived becomes valid: in canonical order, confirmed (R4), and held against its digest.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "worker_agent/core/reader.h"

namespace tensorhub::agent {

// R9: they continue those that are known, and there are no more of them than chunks.
void Reader::OnDigests(const PeerMessage& message, TimeMs now, Effects& effects) {
  const auto digests = DecodeDigests(message.text);
  if (!digests || message.chunk != digests_.known() ||
      digests->size() > chunking().count() - digests_.known()) {
    return Fail(absl::InternalError("the source's digests do not fit the version's chunks"),
                effects);
  }
  source_->spoke_of_digests = true;
  // Taken back: what had arrived without need of a hash may want one.
  if (digests_.ended()) source_->next_hash = reference_.valid_chunks();
  digests_.Append(*digests);
  digests_.SetEnded((message.flags & kFlagNoMoreDigests) != 0);
  if (!CheckList(effects)) return;
  CommitArrived(now, effects);
  GoOn(now, effects);
}

uint32_t Reader::Arrived() const {
  if (source_->way == Way::kOneSided) return source_->got;
  if (source_->way != Way::kServed) return reference_.valid_chunks();
  const uint64_t received = source_->received;
  if (received >= chunking().total_bytes) return chunking().count();
  return static_cast<uint32_t>(received / chunking().chunk_bytes);
}

// Behind a list that has ended nothing is checked.
bool Reader::IsHeldAgainstDigest(uint32_t chunk) const {
  return source_->checked && (!digests_.ended() || chunk < digests_.known());
}

// On arrival, before they are confirmed, so that hashing delays a commit by a run's time at most.
// Nothing writes to a chunk that has arrived, and a digest counts only once the chunk is confirmed.
// Of a one-sided read only the reader's core is busy, so that the source's may help (`beside`).
void Reader::HashArrived(Effects& effects) {
  if (!source_->checked) return;
  const bool beside = source_->way == Way::kOneSided;
  const auto most = static_cast<uint32_t>(
      std::clamp<uint64_t>(options_.check_bytes / chunking().chunk_bytes, 1, kChunkCountMax));
  const uint32_t arrived = Arrived();
  for (uint32_t& next = source_->next_hash; next < arrived;) {
    const uint32_t first = next;
    while (next < arrived && next - first < most && WantsHash(next)) ++next;
    if (next == first) {
      ++next;
      continue;
    }
    const uint64_t token = next_token_++;
    source_->hashing[token] = first;
    effects.emplace_back(
        HashChunks{token, chunking(), first, next - first, /*urgent=*/true, beside});
  }
}

void Reader::OnHashed(const ChunksHashed& event, TimeMs now, Effects& effects) {
  if (!source_) return;
  if (plan_.OnHashed(event)) return GoOn(now, effects);
  const auto found = source_->hashing.find(event.token);
  if (found == source_->hashing.end()) return;
  uint32_t chunk = found->second;
  for (const uint64_t digest : event.digests) {
    if (chunk >= reference_.valid_chunks()) source_->hashed.Set(chunk, digest);
    ++chunk;
  }
  source_->hashing.erase(found);
  CommitArrived(now, effects);
  GoOn(now, effects);
}

// R1: all digests are there, and they give the version's. Where nobody knows that one yet, there is
// one origin, which is believed.
bool Reader::IsProven() const {
  return wanted_ && digests_.Whole(reference_.content().layout, chunking()) == wanted_;
}

// R1: digests of one publication are never taken from two origins that differ.
bool Reader::CheckList(Effects& effects) {
  if (MayBelieve() || !digests_.AllThereFor(chunking().count())) return true;
  const bool whole = digests_.known() >= chunking().count();
  const std::string version = absl::StrCat(reference_.content().version);
  Fail(whole ? absl::DataLossError("its digests are not those of version " + version)
             : absl::FailedPreconditionError("it does not know the digests of version " + version),
       effects);
  return false;
}

Reader::Verdict Reader::Judge(uint32_t chunk) const {
  if (!MayBelieve()) return Verdict::kPending;
  if (!source_->checked) {
    // Whoever reads from here may want to check: a list that is not whole now would stay so.
    const bool last = chunk + 1 == chunking().count();
    const bool waits = last && !digests_.AllThereFor(chunking().count());
    return waits ? Verdict::kPending : Verdict::kGood;
  }
  if (chunk >= digests_.known()) return digests_.ended() ? Verdict::kGood : Verdict::kPending;
  const std::optional<uint64_t> hashed = source_->hashed.Of(chunk);
  if (!hashed) return Verdict::kPending;
  return *hashed == digests_.of(chunk) ? Verdict::kGood : Verdict::kBad;
}

// R4: whole, and confirmed under the assigned generation. Served, by a message that the source sent
// after its own sends had completed; one-sided, by the word. What was not confirmed is not judged:
// it may be torn, and then nothing is wrong with the source.
void Reader::CommitArrived(TimeMs now, Effects& effects) {
  HashArrived(effects);
  const uint32_t limit = std::min(Arrived(), source_->confirmed);
  uint32_t chunk = reference_.valid_chunks();
  Verdict verdict = Verdict::kGood;
  while (chunk < limit && (verdict = Judge(chunk)) == Verdict::kGood) ++chunk;
  source_->hashed.ForgetBelow(chunk);
  Commit(chunk, bytes_read_, now, effects);
  if (source_ && verdict == Verdict::kBad) {
    Fail(absl::DataLossError(
             absl::StrCat("chunk ", chunk, " of ", chunking().count(), " differs from its digest")),
         effects);
  }
}

// R9: what was found to be in place is valid without being read. The stream goes on behind it as a
// new read: nothing was asked for beyond the prefix, so nothing of the old one is under way.
void Reader::SkipSame(TimeMs now, Effects& effects) {
  const uint32_t end = plan_.SameEnd(reference_.valid_chunks());
  if (end == reference_.valid_chunks()) return;
  Commit(end, bytes_skipped_, now, effects);
  if (!source_) return;
  if (source_->way == Way::kOneSided) {
    source_->next_get = source_->got = source_->confirmed = source_->next_hash = end;
    return;
  }
  Say(Header(PeerKind::kClose), effects);
  Open(/*ask_one_sided=*/false, effects);
  StartStream();
}

}  // namespace tensorhub::agent
