// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Device memory as a medium. What UCX's messages carry goes through page-locked host memory here,
// both ways; gets go by UCX, device to device, and never come by. Its copies run in streams of its
// own, which nothing of the owner's waits for.
//
// Thread contract: as Medium says. A context is current only within a call (and within a Scope).

#ifndef TENSORHUB_WORKER_AGENT_CUDA_CUDA_MEDIUM_H_
#define TENSORHUB_WORKER_AGENT_CUDA_CUDA_MEDIUM_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "worker_agent/cuda/driver.h"
#include "worker_agent/cuda/placement.h"
#include "worker_agent/cuda/staging.h"
#include "worker_agent/medium.h"

namespace tensorhub::agent {

class CudaMedium : public Medium {
 public:
  // PlaceOnDevice's errors, and the driver's. `driver` outlives it.
  static absl::StatusOr<std::shared_ptr<CudaMedium>> Make(const std::vector<TensorBuffer>& tensors,
                                                          CudaDriver* driver);
  ~CudaMedium() override;
  CudaMedium(const CudaMedium&) = delete;
  CudaMedium& operator=(const CudaMedium&) = delete;

  const CudaPlacement& placement() const { return placement_; }
  const CudaPrimary& primary() const { return primary_; }
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
  absl::Status Await(const DeviceWork& work, TimeMs timeout_ms) override;
  absl::Status ShowTo(const DeviceWork& work) override;
  absl::Status CheckThere() override;

 private:
  CudaMedium() = default;
  absl::Status Open(const std::vector<TensorBuffer>& tensors, CudaDriver* driver);
  absl::Status FlushRemote();
  absl::Status AwaitEvent(CudaEvent event, TimeMs timeout_ms);

  // Constant after Make.
  CudaDriver* driver_ = nullptr;
  CudaPrimary primary_;
  CudaPlacement placement_;
  CudaDevice device_;
  CudaStream in_ = nullptr;    // CopyIn
  CudaStream out_ = nullptr;   // Expose
  CudaStream hash_ = nullptr;  // Digests
  CudaEvent arrived_ = nullptr;

  // The progress thread's.
  bool copying_in_ = false;  // since MakeVisible
  std::unique_ptr<StagingPool> staging_;
  std::map<uint64_t, void*> exposed_;  // token -> slot

  Mutex mutex_;  // arrived_, and the copies that Digests makes
  HostBuffer hash_buffer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_CUDA_MEDIUM_H_
