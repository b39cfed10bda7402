// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Bytes that lie in several pieces of memory, read by the threads of a kernel as if they were one,
// and written on to other places piece by piece.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_KERNELS_PIECES_H_
#define TENSORHUB_WORKER_AGENT_CUDA_KERNELS_PIECES_H_

#include "worker_agent/cuda/kernels/lane.h"

namespace tensorhub::agent::kernels {

struct Piece {
  uint64_t address = 0;
  uint64_t begin = 0;  // of the first byte within the whole
  uint64_t to = 0;     // where its copy goes, if one is made
};

// The piece that `offset` is in; `count` pieces in order, the first at 0, none empty.
TENSORHUB_LANE_CALL uint32_t FindPiece(const Piece* pieces, uint32_t count, uint64_t offset) {
  return LastNotAbove(count, offset, [pieces](uint32_t i) { return pieces[i].begin; });
}

// Up to 8 bytes, byte by byte, across pieces.
TENSORHUB_LANE_CALL uint64_t GatherBytes(const Piece* pieces, uint32_t count, uint64_t offset,
                                         uint32_t bytes) {
  uint32_t at = FindPiece(pieces, count, offset);
  uint64_t value = 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    while (at + 1 < count && pieces[at + 1].begin <= offset + i) ++at;
    value |= LoadByte(pieces[at].address + (offset + i - pieces[at].begin)) << (8 * i);
  }
  return value;
}

// The bytes of `data` from the `first` on, which are `offset` and what follows it, one by one to
// where the pieces' copies go.
TENSORHUB_LANE_CALL void ScatterBytes(const Piece* pieces, uint32_t count, uint64_t offset,
                                      Bytes16 data, uint32_t first) {
  uint32_t at = FindPiece(pieces, count, offset + first);
  for (uint32_t i = first; i < 16; ++i) {
    while (at + 1 < count && pieces[at + 1].begin <= offset + i) ++at;
    const uint64_t word = i < 8 ? data.low : data.high;
    StoreByte(pieces[at].to + (offset + i - pieces[at].begin),
              static_cast<uint8_t>(word >> (8 * (i % 8))));
  }
}

// One thread's view of the pieces, and of where their copies go. It remembers the piece it was at,
// since the next access is nearly always there.
class PieceView {
 public:
  PieceView() = default;
  // As FindPiece wants them, `bytes` in all, which is a chunk at most (1 GiB: 32 bits are enough,
  // and registers are few). No piece for no bytes.
  TENSORHUB_LANE void Start(const Piece* pieces, uint32_t count, uint64_t bytes) {
    pieces_ = pieces;
    count_ = count;
    bytes_ = static_cast<uint32_t>(bytes);
    begin_ = end_ = 0;
    address_ = to_ = 0;
  }

  // 16 bytes, all within.
  TENSORHUB_LANE Bytes16 At16(uint32_t offset) {
    if (offset < begin_ || offset >= end_) Seek(offset);
    if (offset + 16 <= end_) return Load16(address_ + (offset - begin_));
    return Bytes16{At64(offset), At64(offset + 8)};
  }
  // Copies what At16 gave for that offset, but for what is before `from`. One store where all of it
  // goes to one aligned place; CopiesEvenly (tables.h) says of which chunks that is nearly all.
  TENSORHUB_LANE void Copy16(uint32_t offset, const Bytes16& data, uint32_t from = 0) {
    if (offset < begin_ || offset >= end_) Seek(offset);
    const uint64_t to = to_ + (offset - begin_);
    const bool whole = offset >= from && offset + 16 <= end_ && to % 16 == 0;
    if (whole) return StoreAligned16(to, data);
    ScatterBytes(pieces_, count_, offset, data, offset >= from ? 0 : from - offset);
  }
  // Slow, and for few.
  TENSORHUB_LANE void CopyByte(uint32_t offset) const {
    const uint32_t at = FindPiece(pieces_, count_, offset);
    StoreByte(pieces_[at].to + (offset - pieces_[at].begin), static_cast<uint8_t>(At8(offset)));
  }
  TENSORHUB_LANE uint64_t At64(uint64_t offset) const {
    return GatherBytes(pieces_, count_, offset, 8);
  }
  TENSORHUB_LANE uint32_t At32(uint64_t offset) const {
    return static_cast<uint32_t>(GatherBytes(pieces_, count_, offset, 4));
  }
  TENSORHUB_LANE uint32_t At8(uint64_t offset) const {
    return static_cast<uint32_t>(GatherBytes(pieces_, count_, offset, 1));
  }

 private:
  TENSORHUB_LANE void Seek(uint32_t offset) {
    const uint32_t at = FindPiece(pieces_, count_, offset);
    begin_ = static_cast<uint32_t>(pieces_[at].begin);
    end_ = static_cast<uint32_t>(at + 1 < count_ ? pieces_[at + 1].begin : bytes_);
    address_ = pieces_[at].address;
    to_ = pieces_[at].to;
  }

  const Piece* pieces_ = nullptr;
  uint32_t count_ = 0;
  uint32_t bytes_ = 0;
  uint32_t begin_ = 0;  // of the piece it is at
  uint32_t end_ = 0;
  uint64_t address_ = 0;
  uint64_t to_ = 0;
};

}  // namespace tensorhub::agent::kernels

#endif  // TENSORHUB_WORKER_AGENT_CUDA_KERNELS_PIECES_H_
