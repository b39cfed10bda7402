// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// GetTransport between agents of one host, of which at least one has device memory: copies by the
// device, of memory that it can address. That is any that an agent of the same process shares, so
// that a copy for retention leaves the device, and comes back, at the speed of the bus; and device
// memory of other processes, which the driver maps (the same that UCX does in cuda_ipc). Thousands
// of small tensors come by one kernel, where a transport of one call per get takes microseconds for
// each. What the owner's streams do is not held up.
//
// A source in this process that withdraws its memory waits until gets of it have completed; one in
// another process is waited for by rule R3. Peers do not fail here: a process that is gone no
// longer answers the question for its word.
//
// Thread contract: the progress thread of its agent. There is no event to wait for: while gets are
// under way, Arm says no.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_LOCAL_GETS_H_
#define TENSORHUB_WORKER_AGENT_CUDA_LOCAL_GETS_H_

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "worker_agent/core/transport.h"
#include "worker_agent/cuda/driver.h"
#include "worker_agent/cuda/kernels/kernels_image.h"
#include "worker_agent/cuda/local_moves.h"
#include "worker_agent/cuda/local_regions.h"

namespace tensorhub::agent {

class LocalGets : public GetTransport {
 public:
  // Copies are made by this device. `sink` and `driver` outlive the transport. `image`: of kernels.
  static absl::StatusOr<std::unique_ptr<LocalGets>> Create(
      CudaDriver* driver, int device, Sink* sink,
      std::span<const char> image = kernels::KernelImage());
  ~LocalGets() override;
  LocalGets(const LocalGets&) = delete;
  LocalGets& operator=(const LocalGets&) = delete;

  absl::StatusOr<SharedRegion> Allocate(size_t bytes) override;
  // Any memory that the device can copy from; fast only if it is the device's, or page-locked.
  absl::StatusOr<SharedRegion> Register(void* base, size_t bytes) override;
  std::string Address() const override;
  // Takes a process's LocalProcess, if it is this one, and HostIdentity for the other ones.
  absl::StatusOr<PeerId> Connect(std::string_view address) override;
  absl::StatusOr<RegionId> ImportRegion(PeerId peer, std::string_view packed_key,
                                        uint64_t remote_base, size_t bytes) override;
  void Get(PeerId peer, RegionId region, uint64_t offset, void* to, size_t bytes,
           uint64_t token) override;
  // Within one device, and by its kernels.
  std::optional<size_t> GetWithDigest(PeerId peer, std::span<const Part> parts, uint64_t token,
                                      std::optional<uint64_t>* digest) override;
  void Close(PeerId peer) override;
  std::string Describe(PeerId peer) const override;
  std::string Summary() const override;
  bool Progress() override;
  int EventFd() const override { return -1; }
  bool Arm() override { return batches_.empty() && open_.tokens.empty() && done_.empty(); }

 private:
  struct Import {
    PeerId peer = 0;
    std::shared_ptr<PeerRegion> region;
  };
  // Gets that end together.
  struct Batch {
    std::vector<uint64_t> tokens;
    std::vector<std::shared_ptr<PeerRegion>> entered;
    uint64_t bytes = 0;
  };

  LocalGets(CudaDriver* driver, Sink* sink) : driver_(driver), sink_(sink) {}
  const Import* Find(PeerId peer, RegionId region) const;
  bool ByKernels(const PeerRegion& region) const {
    return reads_into_device_ && region.device() == primary_.device();
  }
  // Between two devices the link is what counts, and what copies best over it.
  bool WithinDevice(const PeerRegion& region) const {
    return ByKernels(region) && region.home() == primary_.device();
  }
  bool Enter(const std::shared_ptr<PeerRegion>& region);
  absl::Status Add(const Import& import, uint64_t offset, void* to, size_t bytes);
  void Await(uint64_t token, uint64_t bytes);
  // How many OnGetDone there are for it.
  size_t AwaitChunk(uint64_t token, uint64_t bytes);
  void AddBytes(uint64_t bytes);
  void Begin();
  void FinishOldest(const absl::Status& status);
  void FinishEnded();

  CudaDriver* const driver_;
  Sink* const sink_;
  CudaPrimary primary_;
  bool reads_into_device_ = false;  // what Register was given is a device's
  std::vector<std::string> keys_;   // of what is shared
  PeerId last_peer_ = 0;
  std::set<PeerId> outside_;  // of other processes
  RegionId last_region_ = 0;
  std::unordered_map<RegionId, Import> imports_;
  std::vector<kernels::MovePiece> chunk_;  // reused
  Batch open_;
  std::deque<Batch> batches_;                            // as `moves_` has them
  std::vector<std::pair<uint64_t, absl::Status>> done_;  // for OnGetDone, from the next Progress
  std::unique_ptr<LocalMoves> moves_;                    // goes first: it waits for copies
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_LOCAL_GETS_H_
