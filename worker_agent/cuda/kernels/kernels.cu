// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The kernels, by name: each block plays its part of a program. Compiled to an image that
// device_kernels.cc hands to the driver; nothing of the CUDA runtime is linked.

#include "worker_agent/cuda/kernels/digest_program.h"
#include "worker_agent/cuda/kernels/move_program.h"

namespace tensorhub::agent::kernels {
namespace {

class DeviceTeam {
 public:
  template <typename T>
  class Each {
   public:
    __device__ T& operator[](uint32_t /*thread*/) { return value_; }

   private:
    T value_{};
  };

  template <typename Function>
  __device__ __forceinline__ void ForEach(Function function) {
    function(threadIdx.x);
  }
  __device__ __forceinline__ void ExchangeXor(Each<uint64_t>& values, uint32_t mask) {
    values[0] = __shfl_xor_sync(0xffffffffu, static_cast<unsigned long long>(values[0]),
                                static_cast<int>(mask));
  }
  __device__ __forceinline__ void Sync() { __syncthreads(); }
};

}  // namespace

// One block of threads per chunk.
extern "C" __global__ void __launch_bounds__(kDigestThreads, 2)
    tensorhub_digest(const Chunk* chunks, const Piece* pieces, uint64_t* digests) {
  __shared__ DigestShared shared;
  DeviceTeam team;
  ChunkDigestProgram</*kCopies=*/false>(team, chunks[blockIdx.x], pieces, shared,
                                        digests + blockIdx.x);
}

// The same, and a copy of each chunk.
extern "C" __global__ void __launch_bounds__(kDigestThreads, 2)
    tensorhub_digest_copy(const Chunk* chunks, const Piece* pieces, uint64_t* digests) {
  __shared__ DigestShared shared;
  DeviceTeam team;
  ChunkDigestProgram</*kCopies=*/true>(team, chunks[blockIdx.x], pieces, shared,
                                       digests + blockIdx.x);
}

// One block of threads per kWindowsPerBlock windows.
extern "C" __global__ void __launch_bounds__(kMoveThreads)
    tensorhub_move(const Move* moves, const uint32_t* hints, uint64_t windows) {
  DeviceTeam team;
  MoveProgram(team, moves, hints, windows, blockIdx.x);
}

}  // namespace tensorhub::agent::kernels
