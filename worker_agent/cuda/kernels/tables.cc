// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/kernels/tables.h"

namespace tensorhub::agent::kernels {

void DigestTables::Add(std::span<const DigestPiece> of_chunk) {
  Chunk chunk;
  chunk.first_piece = static_cast<uint32_t>(pieces.size());
  for (const DigestPiece& piece : of_chunk) {
    if (piece.bytes == 0) continue;
    pieces.push_back({reinterpret_cast<uint64_t>(piece.data), chunk.bytes});
    chunk.bytes += piece.bytes;
    ++chunk.pieces;
  }
  chunks.push_back(chunk);
}

void DigestTables::Clear() {
  chunks.clear();
  pieces.clear();
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
