// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Device memory as a medium. What UCX's messages carry goes through page-locked host memory here,
// both ways; gets (by the device's own copies, or by UCX) go device to device, and never come by.
// Its copies run in streams of its own, which nothing of the owner's waits for.
//
// Thread contract: as Medium says. A context is current only within a call (and within a Scope).

#ifndef TENSORHUB_WORKER_AGENT_CUDA_CUDA_MEDIUM_H_
#define TENSORHUB_WORKER_AGENT_CUDA_CUDA_MEDIUM_H_

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "worker_agent/cuda/device_digests.h"
#include "worker_agent/cuda/driver.h"
#include "worker_agent/cuda/kernels/kernels_image.h"
#include "worker_agent/cuda/owned.h"
#include "worker_agent/cuda/placement.h"
#include "worker_agent/cuda/staging.h"
#include "worker_agent/memory/medium.h"

namespace tensorhub::agent {

class CudaMedium : public Medium {
 public:
  // PlaceOnDevice's errors, and the driver's. `driver` outlives it. Without an image that the
  // device takes digests are made by the CPU. `network_cards`: there are some that write to the
  // device's memory by themselves, past its streams.
  static absl::StatusOr<std::shared_ptr<CudaMedium>> Make(
      const std::vector<TensorBuffer>& tensors, CudaDriver* driver,
      std::span<const char> image = kernels::KernelImage(), bool network_cards = true);
  ~CudaMedium() override;
  CudaMedium(const CudaMedium&) = delete;
  CudaMedium& operator=(const CudaMedium&) = delete;

  const CudaPlacement& placement() const { return placement_; }
  const CudaPrimary& primary() const { return primary_; }
  // Why the CPU makes digests; OK: the device does.
  const absl::Status& digests_by_device() const { return digests_->by_kernels(); }
  // What works, but not as well as it could; a line each, for the owner.
  std::vector<std::string> Warnings() const;
  // What completed gets and the copies of CopyIn have brought is there for whatever is given to
  // `stream` from now on. Any thread.
  absl::Status OrderBefore(CudaStream stream);

  std::string Describe() const override;
  std::vector<Memory::Piece> Regions() const override;
  absl::StatusOr<std::unique_ptr<Scope>> EnterThread() override;
  absl::Status CopyIn(std::span<const Memory::Piece> pieces, std::string_view bytes) override;
  absl::Status MakeVisible() override;
  absl::Status Expose(std::span<const Memory::Piece> pieces, uint64_t token,
                      std::vector<ConstPiece>& exposed) override;
  void Conceal(uint64_t token) override;
  absl::StatusOr<std::vector<uint64_t>> Digests(const Memory& memory,
                                                const HashChunks& what) override;
  bool DigestsManyAtOnce() const override { return digests_by_device().ok(); }
  absl::Status Await(const DeviceWork& work, TimeMs timeout_ms) override;
  absl::Status ShowTo(const DeviceWork& work) override;
  absl::Status CheckThere() override;

 private:
  CudaMedium() = default;
  absl::Status Open(const std::vector<TensorBuffer>& tensors, CudaDriver* driver,
                    std::span<const char> image);
  absl::StatusOr<void*> TakeArriving();
  absl::Status FinishCopyIn();
  absl::Status FlushRemote();
  absl::Status AwaitEvent(CudaEvent event, TimeMs timeout_ms);

  // Constant after Make.
  CudaDriver* driver_ = nullptr;
  CudaPrimary primary_;
  CudaPlacement placement_;
  CudaDevice device_;
  bool flushes_ = false;  // what network cards write is not there before that
  OwnedStream in_;        // CopyIn
  OwnedStream out_;       // Expose
  std::unique_ptr<DeviceDigests> digests_;

  // The progress thread's.
  std::unique_ptr<StagingPool> staging_;
  std::vector<void*> arriving_;        // slots that copies of in_ may still read
  std::map<uint64_t, void*> exposed_;  // token -> slot

  Mutex mutex_;
  OwnedEvent arrived_ ABSL_GUARDED_BY(mutex_);  // recorded in in_, and waited for, by one at a time
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_CUDA_MEDIUM_H_
