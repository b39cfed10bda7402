// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The Team of lane.h on a CPU: one thread plays all of a block, in lock step.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_KERNELS_HOST_TEAM_H_
#define TENSORHUB_WORKER_AGENT_CUDA_KERNELS_HOST_TEAM_H_

#include <array>
#include <cstdint>

#include "worker_agent/cuda/kernels/lane.h"

namespace tensorhub::agent::kernels {

template <uint32_t kThreads>
class HostTeam {
 public:
  static_assert(kThreads % kWarpThreads == 0);

  template <typename T>
  class Each {
   public:
    T& operator[](uint32_t thread) { return values_[thread]; }

   private:
    std::array<T, kThreads> values_{};
  };

  template <typename Function>
  void ForEach(Function function) {
    for (uint32_t thread = 0; thread < kThreads; ++thread) function(thread);
  }
  void ExchangeXor(Each<uint64_t>& values, uint32_t mask) {
    Each<uint64_t> before = values;
    for (uint32_t thread = 0; thread < kThreads; ++thread) values[thread] = before[thread ^ mask];
  }
  void Sync() {}
};

}  // namespace tensorhub::agent::kernels

#endif  // TENSORHUB_WORKER_AGENT_CUDA_KERNELS_HOST_TEAM_H_
