// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/kernels/tables.h"

#include <limits>

#include "common/check.h"

namespace tensorhub::agent::kernels {

void DigestTables::Append(const void* address, void* to, uint64_t bytes) {
  if (bytes == 0) return;
  Chunk& chunk = chunks.back();
  pieces.push_back(
      {reinterpret_cast<uint64_t>(address), chunk.bytes, reinterpret_cast<uint64_t>(to)});
  chunk.bytes += bytes;
  ++chunk.pieces;
  TH_CHECK(chunk.bytes <= std::numeric_limits<uint32_t>::max());  // PieceView's offsets
}

void DigestTables::Add(std::span<const DigestPiece> of_chunk) {
  chunks.push_back({.first_piece = static_cast<uint32_t>(pieces.size())});
  for (const DigestPiece& piece : of_chunk) Append(piece.data, nullptr, piece.bytes);
}

void DigestTables::AddCopied(std::span<const MovePiece> of_chunk) {
  chunks.push_back({.first_piece = static_cast<uint32_t>(pieces.size())});
  for (const MovePiece& piece : of_chunk) Append(piece.from, piece.to, piece.bytes);
}

std::vector<MovePiece> DigestTables::Copies() const {
  std::vector<MovePiece> copies;
  for (const Chunk& chunk : chunks) {
    for (uint32_t i = 0; i < chunk.pieces; ++i) {
      const Piece& piece = pieces[chunk.first_piece + i];
      copies.push_back({reinterpret_cast<const void*>(piece.address),
                        reinterpret_cast<void*>(piece.to),
                        EndOfPiece(chunk, pieces, i) - piece.begin});
    }
  }
  return copies;
}

void DigestTables::Clear() {
  chunks.clear();
  pieces.clear();
}

// A byte by itself costs some thirty times its part of sixteen, and so do those of sixteen that lie
// in two pieces.
bool CopiesEvenly(std::span<const MovePiece> of_chunk) {
  constexpr uint64_t kUnevenPart = 256;
  uint64_t bytes = 0;
  uint64_t uneven = 0;
  for (const MovePiece& piece : of_chunk) {
    if (reinterpret_cast<uint64_t>(piece.to) % 16 != bytes % 16) uneven += piece.bytes;
    if (bytes % 16 != 0) uneven += 16;
    bytes += piece.bytes;
  }
  return uneven <= bytes / kUnevenPart;
}

MoveTables MoveTables::Of(std::span<const MovePiece> pieces) {
  MoveTables tables;
  tables.moves.reserve(pieces.size());
  for (const MovePiece& piece : pieces) {
    if (piece.bytes == 0) continue;
    const Move move{reinterpret_cast<uint64_t>(piece.from), reinterpret_cast<uint64_t>(piece.to),
                    piece.bytes, tables.windows};
    tables.windows += WindowsOf(move.to, move.bytes);
    tables.moves.push_back(move);
  }
  if (tables.moves.empty()) return tables;
  uint32_t at = 0;
  for (uint64_t block = 0; block < tables.blocks(); ++block) {
    const uint64_t first = block * kWindowsPerBlock;
    while (at + 1 < tables.moves.size() && tables.moves[at + 1].first_window <= first) ++at;
    tables.hints.push_back(at);
  }
  tables.hints.push_back(static_cast<uint32_t>(tables.moves.size() - 1));
  return tables;
}

}  // namespace tensorhub::agent::kernels
