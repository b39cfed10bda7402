// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The one-sided way: gets of chunks, each confirmed by the control word, which is got as well, or
// asked for where only the source itself can say it.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "worker_agent/core/stream.h"

namespace tensorhub::agent {

void Stream::OnImported(const MemoryImported& event, Effects& effects) {
  if (!source_ || source_->phase != Phase::kImporting ||
      event.peer != assigned_->source.incarnation) {
    return;
  }
  source_->word_by_message = event.word_by_message;
  if (event.status.ok()) return assigned_->ranges ? BeginRanges(/*by_gets=*/true) : BeginOneSided();
  effects.emplace_back(LogLine{LogLine::Level::kInfo,
                               absl::StrCat("reading from ", ToString(assigned_->source.key),
                                            " by its CPU: ", std::string(event.status.message()))});
  BeginByMessages();
}

void Stream::BeginOneSided() {
  source_->phase = Phase::kOneSided;
  transfer_.NoteOneSided();
  source_->next_get = source_->got = source_->confirmed = transfer_.valid_chunks();
  moved_ = true;
}

// R4, the one-sided way: a chunk is read only after a word or message showed it valid.
uint32_t Stream::GettableEnd() const {
  const uint32_t window_end = transfer_.valid_chunks() + transfer_.WindowChunks();
  return std::min({transfer_.ReadableEnd(), source_->known_valid, window_end});
}

// A get of mapped memory (whose word is got) is a copy by this very thread, within the effect: one
// after the other, so that what came is hashed and served while the next one is copied.
void Stream::IssueGets(Effects& effects) {
  const uint32_t limit = GettableEnd();
  const bool one_by_one = !source_->word_by_message;
  const auto most = static_cast<uint32_t>(
      std::clamp<uint64_t>(options().get_bytes / chunking().chunk_bytes, 1, kChunkCountMax));
  while (source_->next_get < limit && (!one_by_one || gets_.empty())) {
    const uint32_t first = source_->next_get;
    const uint32_t last = std::min(limit, first + most) - 1;
    const uint64_t begin = chunking().begin(first);
    const uint64_t bytes = chunking().begin(last) + chunking().size(last) - begin;
    const uint64_t token = transfer_.NextToken();
    gets_[token] = {first, last + 1};
    const bool digests = transfer_.IsHeldAgainstDigest(last, source_->checked);
    effects.emplace_back(Get{assigned_->source.incarnation,
                             {{begin, begin, bytes}},
                             token,
                             digests ? chunking().chunk_bytes : 0});
    source_->next_get = last + 1;
  }
}

void Stream::OnGetDone(const GetDone& event, TimeMs now, Effects& effects) {
  const auto found = gets_.find(event.token);
  if (found == gets_.end()) return;
  const GetSpan got = found->second;
  gets_.erase(found);
  if (!source_) return OnGetsDrained(now, effects);
  if (!event.status.ok()) {
    Fail(event.status, effects);
    return OnGetsDrained(now, effects);
  }
  Heard(now);
  TH_CHECK(event.digests.empty() || event.digests.size() == got.end - got.first);
  for (auto chunk = static_cast<uint32_t>(got.first); const auto& digest : event.digests) {
    if (digest) source_->hashed.Set(chunk, *digest);
    ++chunk;
  }
  NoteGot(got);
  moved_ = true;
}

void Stream::NoteGot(const GetSpan& got) {
  source_->got_early[got.first] = got.end;
  while (const auto next = source_->got_early.extract(Got())) {
    if (source_->phase == Phase::kRanges) {
      Received(next.mapped());
    } else {
      source_->got = static_cast<uint32_t>(next.mapped());
    }
  }
}

// Everything below it has arrived, and everything below the other one is confirmed as well.
uint64_t Stream::Got() const {
  return source_->phase == Phase::kRanges ? source_->ranges.received : source_->got;
}
uint64_t Stream::ConfirmedSoFar() const {
  return source_->phase == Phase::kRanges ? source_->ranges.proven : source_->confirmed;
}

// The word is read after the data has arrived; one word confirms all chunks that came before it.
void Stream::ReadWord(Effects& effects) {
  if (word_token_ || Got() <= ConfirmedSoFar()) return;
  word_token_ = transfer_.NextToken();
  source_->word_covers = Got();
  if (!source_->word_by_message) {
    effects.emplace_back(GetWord{assigned_->source.incarnation, *word_token_});
    return;
  }
  PeerMessage question = Header(PeerKind::kAskWord);
  question.begin = *word_token_;
  Say(question, effects);
}

// The message's generation has been checked, as that of every message of the read (OnMessage).
void Stream::OnAskedWord(const PeerMessage& message) {
  if (!source_->word_by_message || word_token_ != message.begin) return;
  word_token_.reset();
  Confirmed(message.valid);
}

void Stream::OnWord(const WordArrived& event, TimeMs now, Effects& effects) {
  if (word_token_ != event.token) return;
  word_token_.reset();
  if (!source_) return OnGetsDrained(now, effects);
  const ControlWord word = UnpackControlWord(event.word);
  // R4: a word that cannot be read, or of another generation, fails the read.
  if (!event.status.ok() || word.generation != assigned_->generation) {
    Fail(event.status.ok() ? absl::AbortedError("the source's buffers changed during the read")
                           : event.status,
         effects);
    return OnGetsDrained(now, effects);
  }
  Heard(now);
  Confirmed(word.valid_chunks);
}

void Stream::Confirmed(uint32_t valid) {
  source_->known_valid = std::max(source_->known_valid, valid);
  if (source_->phase == Phase::kRanges) {
    source_->ranges.proven = std::max(source_->ranges.proven, source_->word_covers);
  } else {
    const auto covered = static_cast<uint32_t>(source_->word_covers);
    source_->confirmed = std::max(source_->confirmed, covered);
  }
  moved_ = true;
}

// R4: whoever waits for gets to end must be sure that they do.
void Stream::ForceQuiet(Effects& effects) {
  close_gets_at_.reset();
  if (NoOutstandingGets()) return;
  effects.emplace_back(CloseGets{assigned_->source.incarnation});
  peers_.imported.erase(assigned_->source.incarnation);
}

}  // namespace tensorhub::agent
