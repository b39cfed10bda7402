// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The way of a read that several sources feed: each stream asks its source for the ranges that it
// is given to bring (division.h), and counts in positions, bytes since the read began.
//
// A position is sound up to where it was proven (R4) and, where chunks have digests, held against
// them. What a stream leaves behind is given back from there on: another may write it.

#include <algorithm>
#include <limits>
#include <utility>

#include "worker_agent/core/stream.h"
#include "worker_agent/core/wanted_ranges.h"

namespace tensorhub::agent {
namespace {

// So many blocks of a stream are asked for, and have not come.
constexpr uint64_t kBlocksAhead = 2;
// R9: the source remembers so many, and refuses more. What has come is certainly not there any
// more.
constexpr size_t kRangesAhead = RangeQueue::kRangesMax - Division::kItemsAtOnce;

// How the reader scatters it is not the source's affair.
WantedRange RangeOf(const ReadItem& item) {
  const bool dense = item.count == 1 || item.source_stride == item.run_bytes;
  if (dense) return {item.source_offset, item.bytes(), 0, 1};
  return {item.source_offset, item.run_bytes, item.source_stride, item.count};
}

}  // namespace

void Stream::BeginRanges() {
  source_->phase = Phase::kRanges;
  source_->ranges = Ranges{};
  moved_ = true;
}

// Nothing of the read before is to come any more.
void Stream::OpenAnew(Effects& effects) {
  Say(Header(PeerKind::kClose), effects);
  Open(/*ask_one_sided=*/false, effects);
  BeginRanges();
}

void Stream::WantMore(Effects& effects) {
  if (source_->list != transfer_.lists()) {
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
  if (!ranges.empty()) SayWanted(ranges, effects);
}

// Of the reader's bytes: none behind it is asked for yet.
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
  transfer_.WidenWindow();
  return Horizon() > horizon;
}

void Stream::SayWanted(const std::vector<WantedRange>& ranges, Effects& effects) {
  for (size_t first = 0; first < ranges.size(); first += kRangesPerMessage) {
    const auto begin = ranges.begin() + static_cast<ptrdiff_t>(first);
    const size_t count = std::min(kRangesPerMessage, ranges.size() - first);
    PeerMessage want = Header(PeerKind::kWant);
    want.text = EncodeRanges({begin, begin + static_cast<ptrdiff_t>(count)});
    want.begin = source_->whole_bytes;
    Say(want, effects);
  }
}

void Stream::OnPart(const PeerMessage& message, std::string_view payload, Effects& effects) {
  if (source_->phase != Phase::kRanges) return;
  Ranges& read = source_->ranges;
  if (message.begin != read.received || payload.size() > Outstanding()) {
    return Fail(absl::InternalError("the source sent bytes that were not asked for"), effects);
  }
  const uint64_t end = read.received + payload.size();
  for (const ReadItem& item : read.wanted.Cut(read.received, end)) {
    for (uint64_t run = 0; run < item.count; ++run) {
      const uint64_t offset = item.reader_offset + run * item.reader_stride;
      effects.emplace_back(CopyIn{message.from, offset, payload.substr(0, item.run_bytes)});
      payload.remove_prefix(item.run_bytes);
    }
  }
  read.received = end;
  while (!read.ends.empty() && read.ends.front() <= end) read.ends.pop_front();
  OnStand(message);
}

void Stream::OnStand(const PeerMessage& message) {
  if (source_->phase != Phase::kRanges) return;
  Ranges& read = source_->ranges;
  read.available = std::max(read.available, message.available);
  read.proven = std::max(read.proven, message.proven);
  moved_ = true;
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
