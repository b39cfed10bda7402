// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Many small copies at once: into one place (gather), out of one (scatter), or from many to many.
// A copy call of the driver costs microseconds, whatever it copies; a kernel goes through a table
// of moves at the speed of the memory.
//
// The unit of work is a window: sixteen aligned bytes of the destination, as far as a move writes
// them. Threads of a warp have neighbouring windows. A whole window is written by one store and
// read by one or two aligned loads (Load16), wherever the source lies; the ends of a move that
// share a window with other bytes go byte by byte.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_KERNELS_MOVE_PROGRAM_H_
#define TENSORHUB_WORKER_AGENT_CUDA_KERNELS_MOVE_PROGRAM_H_

#include "worker_agent/cuda/kernels/lane.h"

namespace tensorhub::agent::kernels {

inline constexpr uint32_t kMoveThreads = 256;
// Each thread's loads come before its stores, so that they are under way together.
inline constexpr uint32_t kWindowsPerThread = 4;
inline constexpr uint32_t kWindowsPerWarp = kWarpThreads * kWindowsPerThread;
inline constexpr uint32_t kWindowsPerBlock = kMoveThreads * kWindowsPerThread;

// Not empty. The destinations of a table's moves do not overlap, and overlap no source.
struct Move {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t bytes = 0;
  uint64_t first_window = 0;  // of its own, counted through the table
};

TENSORHUB_LANE uint64_t WindowsOf(uint64_t to, uint64_t bytes) {
  return (to + bytes + 15) / 16 - to / 16;
}

// What one thread does with one window.
struct Window {
  uint64_t to = 0;
  uint64_t from = 0;
  uint32_t bytes = 0;
  Bytes16 data;

  TENSORHUB_LANE void Open(const Move& move, uint64_t window) {
    const uint64_t place = (move.to / 16 + (window - move.first_window)) * 16;
    const uint64_t begin = place > move.to ? place : move.to;
    const uint64_t end = move.to + move.bytes;
    to = begin;
    from = move.from + (begin - move.to);
    bytes = static_cast<uint32_t>((place + 16 < end ? place + 16 : end) - begin);
    if (bytes == 16) data = Load16(from);
  }
  TENSORHUB_LANE void Write() const {
    if (bytes == 16) return StoreAligned16(to, data);
    for (uint32_t i = 0; i < bytes; ++i)
      StoreByte(to + i, static_cast<uint8_t>(LoadByte(from + i)));
  }
};

// The windows of one block. `hints[b]`: the move that block b's first window belongs to, and behind
// the last block the last move. A team of kMoveThreads.
template <typename Team>
TENSORHUB_LANE void MoveProgram(Team& team, const Move* moves, const uint32_t* hints,
                                uint64_t windows, uint64_t block) {
  const uint32_t first = hints[block];
  const uint32_t count = hints[block + 1] - first + 1;
  team.ForEach([&](uint32_t thread) {
    Window open[kWindowsPerThread];
    const uint64_t begin =
        block * kWindowsPerBlock + thread / kWarpThreads * kWindowsPerWarp + thread % kWarpThreads;
    if (begin >= windows) return;
    uint32_t at = LastNotAbove(
        count, begin, [moves, first](uint32_t i) { return moves[first + i].first_window; });
    TENSORHUB_UNROLL
    for (uint32_t i = 0; i < kWindowsPerThread; ++i) {
      const uint64_t window = begin + i * kWarpThreads;
      if (window >= windows) break;
      while (at + 1 < count && moves[first + at + 1].first_window <= window) ++at;
      open[i].Open(moves[first + at], window);
    }
    TENSORHUB_UNROLL
    for (uint32_t i = 0; i < kWindowsPerThread; ++i) open[i].Write();
  });
}

}  // namespace tensorhub::agent::kernels

#endif  // TENSORHUB_WORKER_AGENT_CUDA_KERNELS_MOVE_PROGRAM_H_
