// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/worker_agent/cuda/kernel_driver.h"

#include <cstring>
#include <memory>

#include "common/check.h"
#include "tests/unit/worker_agent/cuda/kernels/scattered.h"
#include "worker_agent/cuda/kernels/digest_program.h"
#include "worker_agent/cuda/kernels/host_team.h"
#include "worker_agent/cuda/kernels/move_program.h"

namespace tensorhub::agent::testing {
namespace {

// For the model of how long kernels take, in which no tables come that would say it: the chunks of
// shards that are worth a model.
constexpr uint64_t kLargeChunkBytes = 512 * 1024;

template <typename T>
T Value(void* argument) {
  T value;
  std::memcpy(&value, argument, sizeof(value));
  return value;
}

}  // namespace

std::byte* KernelDriver::OnDevice(const std::string& bytes) {
  std::byte* const memory = Allocate(0, bytes.size() + kernels::kMarginBytes);
  std::memcpy(Shadow(memory), bytes.data(), bytes.size());
  return memory;
}

absl::StatusOr<FakeDriver::Work> KernelDriver::Kernel(const std::string& name, const CudaGrid& grid,
                                                      std::span<void*> arguments) {
  launched_blocks_ += grid.blocks_x;
  auto* const first = Value<std::byte*>(arguments[0]);
  auto* const second = Value<std::byte*>(arguments[1]);
  if (name == "tensorhub_digest" || name == "tensorhub_digest_copy") {
    TH_CHECK(grid.threads == kernels::kDigestThreads);
    auto* const digests = Value<std::byte*>(arguments[2]);
    const uint64_t bytes = grid.blocks_x * kLargeChunkBytes;
    if (name == "tensorhub_digest") {
      return Work{[=, this] { Digest<false>(grid.blocks_x, first, second, digests); }, bytes / 2};
    }
    copied_chunks_ += grid.blocks_x;
    return Work{[=, this] { Digest<true>(grid.blocks_x, first, second, digests); }, bytes};
  }
  TH_CHECK(name == "tensorhub_move" && grid.threads == kernels::kMoveThreads);
  const auto windows = Value<uint64_t>(arguments[2]);
  return Work{[=, this] { Move(grid.blocks_x, first, second, windows); }, 16 * windows};
}

uint64_t KernelDriver::Reachable(uint64_t address) {
  const auto* const wanted = reinterpret_cast<const void*>(address);
  const std::byte* const found = ShadowForKernel(wanted);
  TH_CHECK(found != nullptr && found != wanted);  // host memory: a GPU might not reach it
  return reinterpret_cast<uint64_t>(found);
}

// Tables are on the device, and so is what they name.
template <typename T>
std::vector<T> KernelDriver::Table(const std::byte* on_device, size_t count) {
  std::vector<T> table(count);
  if (count > 0) std::memcpy(table.data(), ShadowForKernel(on_device), count * sizeof(T));
  return table;
}

template <bool kCopies>
void KernelDriver::Digest(uint32_t blocks, std::byte* chunks_at, std::byte* pieces_at,
                          std::byte* digests_at) {
  const auto chunks = Table<kernels::Chunk>(chunks_at, blocks);
  size_t count = 0;
  for (const kernels::Chunk& chunk : chunks) count += chunk.pieces;
  auto pieces = Table<kernels::Piece>(pieces_at, count);
  for (kernels::Piece& piece : pieces) {
    piece.address = Reachable(piece.address);
    if (kCopies) piece.to = Reachable(piece.to);
  }
  auto* const digests = reinterpret_cast<uint64_t*>(ShadowForKernel(digests_at));
  kernels::HostTeam<kernels::kDigestThreads> team;
  const auto shared = std::make_unique<kernels::DigestShared>();
  for (uint32_t block = 0; block < blocks; ++block) {
    kernels::ChunkDigestProgram<kCopies>(team, chunks[block], pieces.data(), *shared,
                                         digests + block);
  }
}

void KernelDriver::Move(uint32_t blocks, std::byte* moves_at, std::byte* hints_at,
                        uint64_t windows) {
  const auto hints = Table<uint32_t>(hints_at, blocks + 1);
  auto moves = Table<kernels::Move>(moves_at, hints.back() + 1);
  for (kernels::Move& move : moves) {
    move.from = Reachable(move.from);
    move.to = Reachable(move.to);
  }
  kernels::HostTeam<kernels::kMoveThreads> team;
  for (uint32_t block = 0; block < blocks; ++block) {
    kernels::MoveProgram(team, moves.data(), hints.data(), windows, block);
  }
}

}  // namespace tensorhub::agent::testing
