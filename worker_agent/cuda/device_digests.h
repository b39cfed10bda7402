// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Chunk digests of memory on one device: by the kernels, or, where there are none, by the CPU from
// copies in page-locked memory. Both make what ChunkDigest makes.
//
// The host makes a table of chunks for the kernel, which takes it a good part of the time that the
// device is at them. So long jobs go in slices, by two lanes in turn: one's tables are made while
// the device is at the other's chunks.
//
// Thread contract: any thread, several at once: each call has lanes (a stream, tables and buffers)
// to itself, which later calls use again.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_DEVICE_DIGESTS_H_
#define TENSORHUB_WORKER_AGENT_CUDA_DEVICE_DIGESTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/cuda/driver.h"
#include "worker_agent/cuda/kernels/device_kernels.h"
#include "worker_agent/memory/memory.h"

namespace tensorhub::agent {

class DeviceDigests {
 public:
  // What that stream is given from now on sees all that has arrived.
  using OrderBefore = std::function<absl::Status(CudaStream)>;

  // `primary` outlives it. `image`: of the kernels; empty: this build has none.
  DeviceDigests(const CudaPrimary& primary, std::span<const char> image, OrderBefore order_before);
  ~DeviceDigests();
  DeviceDigests(const DeviceDigests&) = delete;
  DeviceDigests& operator=(const DeviceDigests&) = delete;

  // Why the CPU makes them; OK: the device does.
  const absl::Status& by_kernels() const { return by_kernels_; }

  absl::StatusOr<std::vector<uint64_t>> Of(const Memory& memory, const HashChunks& what)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Makes digests for one caller at a time: as DeviceDigester has it.
  class Lane {
   public:
    virtual ~Lane() = default;
    virtual CudaStream stream() const = 0;
    virtual absl::Status Start(const kernels::DigestTables& tables) = 0;
    virtual absl::Status Finish(std::vector<uint64_t>& digests) = 0;
  };
  class KernelLane;
  class CopyLane;
  class InTurn;
  using Lanes = std::vector<std::unique_ptr<Lane>>;

  absl::StatusOr<std::vector<uint64_t>> Run(Lanes& idle, const Memory& memory,
                                            const HashChunks& what) ABSL_LOCKS_EXCLUDED(mutex_);
  // One whose stream sees all that has arrived.
  absl::StatusOr<std::unique_ptr<Lane>> Take(Lanes& idle) ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveBack(Lanes& idle, Lanes lanes) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::unique_ptr<Lane>> Make(const Lanes& of) const;

  // Constant after the constructor.
  const CudaPrimary& primary_;
  const OrderBefore order_before_;
  std::unique_ptr<kernels::KernelModule> module_;
  absl::Status by_kernels_;

  Mutex mutex_;  // what is in the two
  Lanes kernel_lanes_;
  Lanes copy_lanes_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_DEVICE_DIGESTS_H_
