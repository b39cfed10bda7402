// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reads of ranges: the reader names what it wants, and how it is cut is its own affair. What counts
// here are stream positions: bytes since the first that was wanted, in the order wanted.

#include <algorithm>
#include <utility>

#include "worker_agent/core/chunk_server.h"
#include "worker_agent/core/transport.h"

namespace tensorhub::agent {
namespace {

// Pieces of one part. Each costs about as much as copying its few hundred bytes.
constexpr size_t kPiecesMax = 1024;

uint64_t BytesOf(const ByteRanges& pieces) {
  uint64_t bytes = 0;
  for (const ByteRange& piece : pieces) bytes += piece.bytes;
  return bytes;
}

// Pieces that touch are one.
void Append(const ByteRange& piece, ByteRanges& pieces) {
  if (!pieces.empty() && pieces.back().begin + pieces.back().bytes == piece.begin) {
    pieces.back().bytes += piece.bytes;
  } else {
    pieces.push_back(piece);
  }
}

}  // namespace

uint64_t ChunkServer::ValidBytes() const {
  const Chunking& chunking = reference_.content().chunking;
  return std::min(chunking.begin(reference_.valid_chunks()), chunking.total_bytes);
}

// Everything in front of the oldest send that is still under way has left this memory.
uint64_t ChunkServer::Proven(const Read& read) {
  if (!read.ranges) return 0;
  return read.in_flight.empty() ? read.ranges->position() : read.in_flight.begin()->second;
}

void ChunkServer::PutPositions(Read& read, PeerMessage& message) const {
  message.available = read.ranges->AvailableEnd(ValidBytes());
  message.proven = Proven(read);
}

// R9: a read whose ranges do not fit is over. That they end within the shard is known only with the
// content, which a publisher may learn later than its readers (Start).
void ChunkServer::OnWant(const PeerMessage& message, TimeMs now, Effects& effects) {
  const auto found = reads_.find({message.from, message.read});
  if (found == reads_.end() || !found->second.ranges) return;  // refused or closed a moment ago
  Read& read = found->second;
  const auto ranges = DecodeRanges(message.text);
  std::optional<absl::Status> problem;
  if (!ranges || !read.ranges->Append(*ranges)) {
    problem = absl::InvalidArgumentError("the ranges are too many, or do not ascend");
  } else {
    problem = Problem(read);
  }
  if (problem) {
    Refuse(found->first, *problem, effects);
    reads_.erase(found);
    return;
  }
  read.one_sided = false;  // as in OnRequest
  read.unfragmented_bytes = message.begin;
  Pump(found->first, read, now, effects);
}

void ChunkServer::PumpRanges(const ReadKey& key, Read& read, TimeMs now, Effects& effects) {
  const uint64_t ahead = AheadBytes(read);
  bool more = true;
  while (more && read.in_flight_bytes < ahead) {
    ByteRanges pieces = NextPart(read);
    more = !pieces.empty();
    if (more) IssuePart(key, read, std::move(pieces), now, effects);
  }
  if (!more || read.in_flight.empty()) Confirm(key, read, now, effects);
}

// Short runs travel together, since each message costs as much as copying a good many of them. What
// goes from where it lies is cut as FramePlan cuts it. R4: all of it lies below the own prefix, not
// only its first byte.
ByteRanges ChunkServer::NextPart(const Read& read) const {
  ByteRanges pieces;
  const uint64_t bytes_max = FrameBytes(read);
  const uint64_t valid = ValidBytes();
  RangeQueue::Walk walk(*read.ranges);
  for (uint64_t bytes = 0; bytes < bytes_max && pieces.size() < kPiecesMax;) {
    ByteRange piece = walk.Next(valid, bytes_max - bytes);
    const bool large = piece.bytes >= options_.frame_bytes / 4;
    const bool full = pieces.size() == kPiecesInPlace && bytes >= options_.frame_bytes / 2;
    if (piece.bytes == 0 || (!pieces.empty() && (large || full))) break;
    if (large) {
      piece.bytes = frames_.EndOfFrame(piece.begin, piece.begin + piece.bytes) - piece.begin;
    }
    Append(piece, pieces);
    walk.Pass(piece.bytes);
    bytes += piece.bytes;
    if (large) break;
  }
  return pieces;
}

void ChunkServer::IssuePart(const ReadKey& key, Read& read, ByteRanges pieces, TimeMs now,
                            Effects& effects) {
  const uint64_t bytes = BytesOf(pieces);
  PeerMessage header = Header(PeerKind::kPart, key, read);
  header.begin = read.ranges->position();
  PutPositions(read, header);
  if (read.hash_parts) header.flags = kFlagHashed;
  read.told_proven = header.proven;
  read.told_valid = header.valid;
  read.said_at = now;
  const uint64_t token = next_token_++;
  sends_[token] = {key, bytes};
  read.in_flight[token] = header.begin;
  read.in_flight_bytes += bytes;
  read.ranges->Take(bytes);
  effects.emplace_back(
      SendData{key.first, Encode(header), std::move(pieces), token, read.hash_parts});
}

}  // namespace tensorhub::agent
