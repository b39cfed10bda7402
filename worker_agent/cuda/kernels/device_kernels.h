// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of one device: chunk digests, with copies or without, and many small copies. Nothing
// here is bound to one stream; each object below has tables of its own, so that two may work at
// once.
//
// Thread contract: each object is used by one thread at a time, any. They make the device's context
// current themselves. The CudaPrimary that they were made with outlives them.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_KERNELS_DEVICE_KERNELS_H_
#define TENSORHUB_WORKER_AGENT_CUDA_KERNELS_DEVICE_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/cuda/driver.h"
#include "worker_agent/cuda/kernels/kernels_image.h"
#include "worker_agent/cuda/kernels/tables.h"
#include "worker_agent/cuda/owned.h"

namespace tensorhub::agent::kernels {

// The image, loaded into a device.
class KernelModule {
 public:
  // FAILED_PRECONDITION: this build has no kernels (it found no nvcc), or the driver is older than
  // the compiler that made them; digests are the host's business then.
  static absl::StatusOr<std::unique_ptr<KernelModule>> Load(
      const CudaPrimary& primary, std::span<const char> image = KernelImage());
  ~KernelModule();
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;

  const CudaPrimary& primary() const { return primary_; }
  CudaKernel digest() const { return digest_; }
  CudaKernel digest_copy() const { return digest_copy_; }
  CudaKernel move() const { return move_; }

 private:
  explicit KernelModule(const CudaPrimary& primary) : primary_(primary) {}

  const CudaPrimary& primary_;
  CudaModule module_ = nullptr;
  CudaKernel digest_ = nullptr;
  CudaKernel digest_copy_ = nullptr;
  CudaKernel move_ = nullptr;
};

// A block of page-locked memory and one of the device's, as large, that it is copied to or from.
// The context is current in all calls.
class MirroredBlock {
 public:
  explicit MirroredBlock(CudaDriver* driver) : driver_(driver) {}
  ~MirroredBlock() { Free(); }
  MirroredBlock(const MirroredBlock&) = delete;
  MirroredBlock& operator=(const MirroredBlock&) = delete;

  // Neither block is in use. What was in them is lost if they have to grow.
  absl::Status Reserve(size_t bytes);
  std::byte* host() const { return static_cast<std::byte*>(host_); }
  std::byte* device() const { return static_cast<std::byte*>(device_); }
  absl::Status ToDevice(size_t bytes, CudaStream stream);
  absl::Status ToHost(size_t bytes, CudaStream stream);
  void Free();

 private:
  CudaDriver* const driver_;
  void* host_ = nullptr;
  void* device_ = nullptr;
  size_t bytes_ = 0;
};

// One launch for many chunks: their tables on the device, and their digests back. For one at a
// time. The context is current in all calls.
class DigestJob {
 public:
  explicit DigestJob(CudaDriver* driver) : driver_(driver), block_(driver) {}

  // Enqueues it; `kernel` is one of those for digests. What was enqueued before has ended.
  // RESOURCE_EXHAUSTED: no memory for the tables, and nothing else is wrong.
  absl::Status Enqueue(CudaKernel kernel, const DigestTables& tables, CudaStream stream);
  // Digests of the chunks, in their order, as ChunkDigest of chunk_digest.h makes them, once the
  // stream has come so far.
  std::span<const uint64_t> digests() const {
    return {reinterpret_cast<const uint64_t*>(block_.host()), chunks_};
  }
  // Nothing is under way.
  void Free() { block_.Free(); }

 private:
  CudaDriver* const driver_;
  MirroredBlock block_;  // digests, chunks, pieces
  size_t chunks_ = 0;
};

class DeviceDigester {
 public:
  // `module` outlives it.
  static absl::StatusOr<std::unique_ptr<DeviceDigester>> Create(const KernelModule* module);
  ~DeviceDigester();
  DeviceDigester(const DeviceDigester&) = delete;
  DeviceDigester& operator=(const DeviceDigester&) = delete;

  // Enqueues the digests of the chunks. What those hold must have been written before, or `stream`
  // wait for it. RESOURCE_EXHAUSTED: no memory for the tables, and nothing else is wrong. After an
  // error nothing is under way. The last ones were finished before.
  absl::Status Start(const DigestTables& tables);
  // Waits for them, asleep if that takes long, and puts them behind `digests`, in the chunks'
  // order. Nothing was started: nothing happens.
  absl::Status Finish(std::vector<uint64_t>& digests);
  // In which the chunks are read; what it is given to wait for, they wait for.
  CudaStream stream() const { return stream_.get(); }

 private:
  explicit DeviceDigester(const KernelModule* module) : module_(module), job_(driver()) {}
  CudaDriver* driver() const { return module_->primary().driver(); }

  const KernelModule* const module_;
  OwnedStream stream_;
  DigestJob job_;
  bool under_way_ = false;
};

class DeviceMover {
 public:
  // `module` outlives it.
  static absl::StatusOr<std::unique_ptr<DeviceMover>> Create(const KernelModule* module);
  // Waits for its last copies.
  ~DeviceMover();
  DeviceMover(const DeviceMover&) = delete;
  DeviceMover& operator=(const DeviceMover&) = delete;

  // Enqueues the copies on `stream` and returns; waits only where the copies of the call before are
  // still under way, for their tables. All memory is reachable from this device.
  absl::Status Start(std::span<const MovePiece> pieces, CudaStream stream);

 private:
  explicit DeviceMover(const KernelModule* module) : module_(module), tables_(driver()) {}
  CudaDriver* driver() const { return module_->primary().driver(); }
  absl::Status Enqueue(const MoveTables& tables, CudaStream stream);

  const KernelModule* const module_;
  OwnedEvent done_;  // of the last Start
  MirroredBlock tables_;
};

}  // namespace tensorhub::agent::kernels

#endif  // TENSORHUB_WORKER_AGENT_CUDA_KERNELS_DEVICE_KERNELS_H_
