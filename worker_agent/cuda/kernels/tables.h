// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The tables that kernels work through, as the host makes them.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_KERNELS_TABLES_H_
#define TENSORHUB_WORKER_AGENT_CUDA_KERNELS_TABLES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "worker_agent/cuda/kernels/digest_program.h"
#include "worker_agent/cuda/kernels/move_program.h"
#include "worker_agent/cuda/kernels/pieces.h"
#include "worker_agent/memory/chunk_digest.h"

namespace tensorhub::agent::kernels {

struct MovePiece {
  const void* from = nullptr;
  void* to = nullptr;
  uint64_t bytes = 0;
};

// Where the chunk's i-th piece ends in it.
inline uint64_t EndOfPiece(const Chunk& chunk, const std::vector<Piece>& pieces, uint32_t i) {
  return i + 1 < chunk.pieces ? pieces[chunk.first_piece + i + 1].begin : chunk.bytes;
}

struct DigestTables {
  std::vector<Chunk> chunks;
  std::vector<Piece> pieces;

  // A chunk that lies in these pieces, in order.
  void Add(std::span<const DigestPiece> of_chunk);
  // The same, to be copied as well.
  void AddCopied(std::span<const MovePiece> of_chunk);
  // The copies alone.
  std::vector<MovePiece> Copies() const;
  void Clear();

 private:
  void Append(const void* address, void* to, uint64_t bytes);
};

// A chunk whose copy is stored sixteen bytes at a time, nearly all of it: where its pieces go to is
// at the same distance from a multiple of sixteen as their places in the chunk. It would go byte by
// byte otherwise.
bool CopiesEvenly(std::span<const MovePiece> of_chunk);

struct MoveTables {
  std::vector<Move> moves;
  std::vector<uint32_t> hints;  // one per block, and one more; see MoveProgram
  uint64_t windows = 0;

  // Empty pieces are left out.
  static MoveTables Of(std::span<const MovePiece> pieces);
  uint64_t blocks() const { return (windows + kWindowsPerBlock - 1) / kWindowsPerBlock; }
};

}  // namespace tensorhub::agent::kernels

#endif  // TENSORHUB_WORKER_AGENT_CUDA_KERNELS_TABLES_H_
