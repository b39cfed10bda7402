// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A driver without a GPU that takes an image of kernels and runs their programs, on the CPU.

#ifndef TENSORHUB_TESTS_UNIT_WORKER_AGENT_CUDA_KERNEL_DRIVER_H_
#define TENSORHUB_TESTS_UNIT_WORKER_AGENT_CUDA_KERNEL_DRIVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/worker_agent/cuda/fake_driver.h"

namespace tensorhub::agent::testing {

class KernelDriver : public FakeDriver {
 public:
  KernelDriver() : KernelDriver(Options{}) {}
  explicit KernelDriver(Options options) : FakeDriver(WithKernels(options)) {}

  // It takes any.
  static std::span<const char> Image() { return "an image"; }
  // A new allocation of device 0 with these bytes, and room behind them.
  std::byte* OnDevice(const std::string& bytes);
  uint64_t launched_blocks() const { return launched_blocks_; }
  // Chunks that were hashed as they were copied.
  uint64_t copied_chunks() const { return copied_chunks_; }

 private:
  static Options WithKernels(Options options) {
    options.kernels = true;
    return options;
  }
  absl::StatusOr<Work> Kernel(const std::string& name, const CudaGrid& grid,
                              std::span<void*> arguments) override;
  uint64_t Reachable(uint64_t address);
  template <typename T>
  std::vector<T> Table(const std::byte* on_device, size_t count);
  template <bool kCopies>
  void Digest(uint32_t blocks, std::byte* chunks_at, std::byte* pieces_at, std::byte* digests_at);
  void Move(uint32_t blocks, std::byte* moves_at, std::byte* hints_at, uint64_t windows);

  std::atomic<uint64_t> launched_blocks_{0};
  std::atomic<uint64_t> copied_chunks_{0};
};

}  // namespace tensorhub::agent::testing

#endif  // TENSORHUB_TESTS_UNIT_WORKER_AGENT_CUDA_KERNEL_DRIVER_H_
