// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reads of ranges: the reader names what it wants, and how it is cut is its own affair. What counts
// here are stream positions: bytes since the first that was wanted, in the order wanted.

#include <algorithm>

#include "worker_agent/core/chunk_server.h"

namespace tensorhub::agent {

uint64_t ChunkServer::ValidBytes() const {
  const Chunking& chunking = reference_.content().chunking;
  return std::min(chunking.begin(reference_.valid_chunks()), chunking.total_bytes);
}

// Everything in front of the oldest send that is still under way has left this memory.
uint64_t ChunkServer::Proven(const Read& read) {
  if (!read.ranges) return 0;
  return read.in_flight.empty() ? read.ranges->position() : read.in_flight.begin()->second;
}

void ChunkServer::PutPositions(const Read& read, PeerMessage& message) const {
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
  read.whole_bytes = message.begin;
  Pump(found->first, read, now, effects);
}

void ChunkServer::PumpRanges(const ReadKey& key, Read& read, TimeMs now, Effects& effects) {
  const uint64_t ahead = AheadBytes(read);
  ByteRange piece = read.ranges->Next(ValidBytes(), FrameBytes(read));
  while (piece.bytes > 0 && read.in_flight_bytes < ahead) {
    IssuePart(key, read, piece, now, effects);
    piece = read.ranges->Next(ValidBytes(), FrameBytes(read));
  }
  if (piece.bytes == 0 || read.in_flight.empty()) Confirm(key, read, now, effects);
}

// R4: a part lies whole below the own prefix, not only its first byte.
void ChunkServer::IssuePart(const ReadKey& key, Read& read, const ByteRange& piece, TimeMs now,
                            Effects& effects) {
  const uint64_t bytes = frames_.EndOfFrame(piece.begin, piece.begin + piece.bytes) - piece.begin;
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
      SendData{key.first, Encode(header), {piece.begin, bytes}, token, read.hash_parts});
}

}  // namespace tensorhub::agent
