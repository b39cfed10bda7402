// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Copies in streams of a device's own, in batches that end together. A copy call of the driver
// takes the host a few microseconds, in which the device copies megabytes; so the short copies of a
// batch are made by one kernel, where the build and the driver have it, and chunks whose digests
// are wanted by another, which hashes what passes. Batches take turns in three streams: two
// fill the device, also one that hashes a chunk per block, while the third's next one begins.
//
// Thread contract: one thread at a time; the device's context is current in all calls but Make.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_LOCAL_MOVES_H_
#define TENSORHUB_WORKER_AGENT_CUDA_LOCAL_MOVES_H_

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/cuda/kernels/device_kernels.h"
#include "worker_agent/cuda/owned.h"

namespace tensorhub::agent {

class LocalMoves {
 public:
  // `primary` outlives it. `image`: of the kernels.
  static absl::StatusOr<std::unique_ptr<LocalMoves>> Make(const CudaPrimary& primary,
                                                          std::span<const char> image);
  // Waits for what was begun.
  ~LocalMoves();
  LocalMoves(const LocalMoves&) = delete;
  LocalMoves& operator=(const LocalMoves&) = delete;

  // To the batch that Begin will begin. `by_kernels`: this device's may use both ends.
  void Add(const kernels::MovePiece& piece, bool by_kernels);
  // The same for a chunk that is in these pieces, which this device's kernels can use both ends of,
  // and whose digest is wanted: `digest` has it when the batch has ended well, unless the device
  // had no room. False, and nothing was added: there is no kernel, or it would be slow for this
  // chunk.
  bool AddChunk(std::span<const kernels::MovePiece> pieces, std::optional<uint64_t>* digest);
  // After an error no copy is under way any more, of no batch, and all batches have ended so.
  absl::Status Begin();
  // Why short ones are not moved by a kernel; OK: they are.
  const absl::Status& why_no_kernel() const { return kernels_.status(); }
  // Whether the oldest batch that was begun, and not told of yet, has ended; an error ends it too,
  // after all that was begun has been waited for.
  absl::StatusOr<bool> OldestEnded();

 private:
  // What one batch needs, and the next one after it.
  struct Means {
    OwnedEvent ended;
    std::unique_ptr<kernels::DeviceMover> mover;    // null: nothing short was to be moved yet
    std::unique_ptr<kernels::DigestJob> chunks;     // null: no digest was wanted yet
    std::vector<std::optional<uint64_t>*> digests;  // where those of `chunks` go

    void HandOut() const;
  };

  struct Open {
    kernels::MovePiece piece;
    bool by_kernels = false;
  };

  explicit LocalMoves(const CudaPrimary& primary) : primary_(primary) {}
  absl::StatusOr<Means> TakeMeans();
  bool HaveKernels() const { return kernels_.ok() && without_kernel_ == 0; }
  void Sort();
  absl::Status Enqueue(Means& means);
  absl::Status EnqueueShort(Means& means);
  absl::Status EnqueueChunks(Means& means);
  bool WithoutRoom(const absl::Status& status);
  absl::Status Copy(std::span<const kernels::MovePiece> pieces);
  void AwaitAll();
  CudaStream stream() const { return streams_[next_].get(); }

  const CudaPrimary& primary_;
  std::array<OwnedStream, 3> streams_;
  size_t next_ = 0;  // the stream of the batch that is begun
  absl::StatusOr<std::unique_ptr<kernels::KernelModule>> kernels_;
  int without_kernel_ = 0;  // so many batches are copied yet
  std::vector<Open> open_;
  kernels::DigestTables open_chunks_;
  std::vector<std::optional<uint64_t>*> open_digests_;  // where those of `open_chunks_` go
  std::vector<kernels::MovePiece> long_;                // of the batch that is begun
  std::vector<kernels::MovePiece> short_;
  std::deque<Means> begun_;
  std::vector<Means> spare_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_LOCAL_MOVES_H_
