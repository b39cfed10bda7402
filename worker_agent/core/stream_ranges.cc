// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The way of a read that several sources feed: each stream asks its source for the ranges that it
// is given to bring (division.h), or gets them, and counts in positions, bytes since the read
// began.
//
// A position is sound up to where it was proven (R4) and, where chunks have digests, held against
// them. What a stream leaves behind is given back from there on: another may write it.

#include <algorithm>
#include <utility>

#include "worker_agent/core/stream.h"
#include "worker_agent/core/wanted_ranges.h"

namespace tensorhub::agent {
namespace {

// Blocks of a stream that are asked for, and have not come.
constexpr uint64_t kBlocksAhead = 2;
// R9: the source remembers so many, and refuses more. What has come is certainly not there any
// more.
constexpr size_t kRangesAhead = RangeQueue::kRangesMax - Division::kItemsAtOnce;
// With so many, a get of short runs is not much more to do than one of long ones.
constexpr size_t kRunsPerGet = 4096;

// How the reader scatters it is not the source's affair.
WantedRange RangeOf(const ReadItem& item) {
  const bool dense = item.count == 1 || item.source_stride == item.run_bytes;
  if (dense) return {item.source_offset, item.bytes(), 0, 1};
  return {item.source_offset, item.run_bytes, item.source_stride, item.count};
}

}  // namespace

void Stream::BeginRanges(bool by_gets) {
  source_->phase = Phase::kRanges;
  source_->ranges = Ranges{};
  source_->ranges.by_gets = by_gets;
  if (by_gets) transfer_.NoteOneSided();
  moved_ = true;
}

// Nothing of the read before is to come any more.
void Stream::OpenAnew(Effects& effects) {
  Say(Header(PeerKind::kClose), effects);
  Open(/*ask_one_sided=*/false, effects);
  BeginRanges(/*by_gets=*/false);
}

void Stream::WantMore(Effects& effects) {
  if (source_->list != transfer_.lists() && !assigned_->parts) {
    GiveBack();
    OpenAnew(effects);
  }
  Division& division = *transfer_.division();
  const uint64_t ahead = kBlocksAhead * transfer_.BlockBytes();
  std::vector<WantedRange> ranges;
  while (source_->ranges.ends.size() <= kRangesAhead && Outstanding() < ahead) {
    const Ranges& read = source_->ranges;
    const bool all_there = read.sound == read.wanted.bytes();
    const uint64_t end = read.wanted.items().empty() ? 0 : read.wanted.items().back().source_end();
    const auto items = division.Give(assigned_->part, all_there ? 0 : end, Horizon());
    if (items.empty() && WidenIfIdle()) continue;
    if (items.empty()) break;
    if (items.front().source_offset < end) OpenAnew(effects);
    for (const ReadItem& item : items) {
      TH_CHECK(source_->ranges.wanted.Append(item));
      source_->ranges.ends.push_back(source_->ranges.wanted.bytes());
      ranges.push_back(RangeOf(item));
    }
  }
  if (source_->ranges.by_gets) return IssueGetsOfRanges(effects);
  if (!ranges.empty()) SayWanted(ranges, effects);
}

// R4, as GettableEnd: in the source's bytes, of which those below its prefix may be read.
uint64_t Stream::GettablePosition() const {
  const uint64_t valid = uint64_t{source_->known_valid} * transfer_.source_chunk_bytes();
  return source_->ranges.wanted.PositionBelowSource(valid);
}

// As IssueGets.
void Stream::IssueGetsOfRanges(Effects& effects) {
  Ranges& read = source_->ranges;
  const uint64_t limit = GettablePosition();
  const uint64_t most = std::max(options().get_bytes, chunking().chunk_bytes);
  while (read.next_get < limit && (source_->word_by_message || gets_.empty())) {
    Get get{assigned_->source.incarnation, {}, transfer_.NextToken(), 0};
    const uint64_t first = read.next_get;
    for (const ReadItem& item : read.wanted.Cut(first, std::min(limit, first + most))) {
      for (uint64_t i = 0; i < item.count && get.runs.size() < kRunsPerGet; ++i) {
        get.runs.push_back({item.source_offset + i * item.source_stride,
                            item.reader_offset + i * item.reader_stride, item.run_bytes});
        read.next_get += item.run_bytes;
      }
    }
    gets_[get.token] = {first, read.next_get};
    effects.emplace_back(std::move(get));
  }
}

// The first of the reader's bytes behind which none is asked for yet.
uint64_t Stream::Horizon() const {
  return chunking().begin(transfer_.valid_chunks() + transfer_.WindowChunks());
}

uint64_t Stream::Outstanding() const {
  return source_->ranges.wanted.bytes() - source_->ranges.received;
}

// Everything that it was given has come, and what else it may bring lies beyond the window. True:
// it is wider now.
bool Stream::WidenIfIdle() {
  const Division& division = *transfer_.division();
  const uint64_t horizon = Horizon();
  const bool others_first = !assigned_->parts && division.LowWater() < horizon;
  if (Outstanding() != 0 || others_first || !division.HasMore(assigned_->part)) return false;
  transfer_.WidenWindowForOthers();
  return Horizon() > horizon;
}

void Stream::SayWanted(const std::vector<WantedRange>& ranges, Effects& effects) {
  for (size_t first = 0; first < ranges.size(); first += kRangesPerMessage) {
    const auto begin = ranges.begin() + static_cast<ptrdiff_t>(first);
    const size_t count = std::min(kRangesPerMessage, ranges.size() - first);
    PeerMessage want = Header(PeerKind::kWant);
    want.text = EncodeRanges({begin, begin + static_cast<ptrdiff_t>(count)});
    want.begin = source_->unfragmented_bytes;
    Say(want, effects);
  }
}

void Stream::OnPart(const PeerMessage& message, std::string_view payload, Effects& effects) {
  if (source_->phase != Phase::kRanges) return;
  const Ranges& read = source_->ranges;
  if (read.by_gets || message.begin != read.received || payload.size() > Outstanding()) {
    return Fail(absl::InternalError("the source sent bytes that were not asked for"), effects);
  }
  const uint64_t end = read.received + payload.size();
  CopyIn copy{message.from, {}, payload};
  for (const ReadItem& item : read.wanted.Cut(read.received, end)) {
    for (uint64_t run = 0; run < item.count; ++run) {
      copy.ranges.push_back({item.reader_offset + run * item.reader_stride, item.run_bytes});
    }
  }
  if (!payload.empty()) effects.emplace_back(std::move(copy));
  Received(end);
  OnStand(message);
}

// All in front of it has arrived.
void Stream::Received(uint64_t end) {
  Ranges& read = source_->ranges;
  read.received = end;
  while (!read.ends.empty() && read.ends.front() <= end) read.ends.pop_front();
}

void Stream::OnStand(const PeerMessage& message) {
  if (source_->phase != Phase::kRanges) return;
  moved_ = true;
  Ranges& read = source_->ranges;
  if (read.by_gets) return;  // the word alone proves those
  read.available = std::max(read.available, message.available);
  read.proven = std::max(read.proven, message.proven);
}

// The chunk that begins at that position, if all of it lies below `end`. Blocks are whole chunks.
std::optional<uint32_t> Stream::ChunkAt(uint64_t position, uint64_t end) const {
  if (position >= end) return std::nullopt;
  const uint64_t offset = source_->ranges.wanted.ReaderOffset(position);
  const auto chunk = static_cast<uint32_t>(offset / chunking().chunk_bytes);
  return position + chunking().size(chunk) <= end ? std::optional(chunk) : std::nullopt;
}

void Stream::HashRanges(Effects& effects) {
  if (assigned_->parts) return;
  Ranges& read = source_->ranges;
  const uint32_t most = HashedAtOnce();
  while (const auto first = ChunkAt(read.next_hash, read.received)) {
    uint32_t count = 0;
    for (auto chunk = first; chunk == *first + count && count < most && WantsHash(*chunk);
         chunk = ChunkAt(read.next_hash, read.received)) {
      read.next_hash += chunking().size(*chunk);
      ++count;
    }
    if (count == 0) {
      read.next_hash += chunking().size(*first);
      continue;
    }
    StartHashing(*first, count, /*beside=*/false, effects);
  }
}

// R4: as SoundEnd, for chunks in the order in which this stream brings them. A part of another
// shard has no chunks; its way here was checked as it came.
void Stream::JudgeRanges() {
  Ranges& read = source_->ranges;
  if (assigned_->parts) {
    read.sound = std::min(read.proven, read.received);
    return;
  }
  while (const auto chunk = ChunkAt(read.sound, std::min(read.proven, read.received))) {
    const auto verdict = transfer_.Judge(*chunk, source_->checked, source_->hashed.Of(*chunk));
    if (verdict == Transfer::Verdict::kBad) source_->bad = *chunk;
    if (verdict != Transfer::Verdict::kGood) return;
    read.sound += chunking().size(*chunk);
    source_->hashed.ForgetBelow(*chunk + 1);
  }
}

uint64_t Stream::LowWater() {
  if (!source_ || source_->phase != Phase::kRanges) return chunking().total_bytes;
  JudgeRanges();
  return source_->ranges.wanted.LowWater(source_->ranges.sound, chunking().total_bytes);
}

// R5: the others go on with it at once. Frames of the read that come late are dropped, so that
// nothing of it writes any more.
void Stream::GiveBack() {
  if (source_->phase != Phase::kRanges) return;
  const Ranges& read = source_->ranges;
  transfer_.division()->TakeBack(assigned_->part, read.wanted.Cut(read.sound, read.wanted.bytes()));
  moved_ = true;
}

}  // namespace tensorhub::agent
