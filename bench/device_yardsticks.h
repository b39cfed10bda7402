// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a GPU can do with so many bytes, and what our kernels make of it: each call is one round,
// and returns its seconds.

#ifndef TENSORHUB_BENCH_DEVICE_YARDSTICKS_H_
#define TENSORHUB_BENCH_DEVICE_YARDSTICKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/device_block.h"
#include "worker_agent/cuda/cuda_medium.h"
#include "worker_agent/cuda/kernels/device_kernels.h"
#include "worker_agent/cuda/staging.h"
#include "worker_agent/memory/memory.h"

namespace tensorhub::bench {

class DeviceYardsticks {
 public:
  struct Options {
    agent::CudaDriver* driver = nullptr;  // outlives it
    int device = 0;
    int from_device = 0;  // of what is copied to `device`
    size_t bytes = 0;
    std::span<const char> image = agent::kernels::KernelImage();
  };
  // RESOURCE_EXHAUSTED: twice the bytes do not fit.
  static absl::StatusOr<std::unique_ptr<DeviceYardsticks>> Make(const Options& options);

  // All bytes in one call, from `from_device`.
  absl::StatusOr<double> Copy();
  // To and from page-locked memory, whatever part of the bytes that takes, as if it were all.
  absl::StatusOr<double> CopyOut();
  absl::StatusOr<double> CopyIn();
  // As an agent makes them: of chunks, a batch at a time.
  absl::StatusOr<double> Digest();
  // Why the CPU makes digests; empty: the device does.
  std::string WhyNoKernels() const;
  // Copies so many scattered tensors into place, a copy each, or by one kernel.
  // FAILED_PRECONDITION: there are no kernels.
  absl::StatusOr<double> CopySmall(size_t tensors);
  absl::StatusOr<double> GatherSmall(size_t tensors);

 private:
  explicit DeviceYardsticks(const Options& options) : options_(options) {}
  absl::Status Open();
  absl::Status OpenBlocks();
  absl::Status EnablePeer();
  absl::Status OpenMedium();
  absl::StatusOr<double> CopyPinned(bool out);
  std::vector<agent::kernels::MovePiece> Scattered(size_t tensors) const;
  agent::CudaDriver& driver() const { return *options_.driver; }

  const Options options_;
  agent::CudaPrimary primary_;
  agent::CudaPrimary from_primary_;
  std::unique_ptr<DeviceBlock> to_;
  std::unique_ptr<DeviceBlock> from_;
  agent::HostBuffer pinned_;
  std::unique_ptr<DeviceTimer> timer_;
  agent::Memory memory_;
  std::shared_ptr<agent::CudaMedium> medium_;  // of to_
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_DEVICE_YARDSTICKS_H_
