// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// GetTransport between agents of one process, of which at least one has device memory: the driver's
// copies, in a stream of their own. So a copy for retention leaves the device, and comes back, at
// the speed of the bus, and what the owner's streams do is not held up.
//
// A source that withdraws its memory waits until gets of it have completed.
//
// Thread contract: the progress thread of its agent. There is no event to wait for: while gets are
// under way, Arm says no.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_LOCAL_GETS_H_
#define TENSORHUB_WORKER_AGENT_CUDA_LOCAL_GETS_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker_agent/cuda/driver.h"
#include "worker_agent/cuda/local_regions.h"
#include "worker_agent/cuda/owned.h"
#include "worker_agent/transport.h"

namespace tensorhub::agent {

class LocalGets : public GetTransport {
 public:
  // Copies are made by this device. `sink` and `driver` outlive the transport.
  static absl::StatusOr<std::unique_ptr<LocalGets>> Create(CudaDriver* driver, int device,
                                                           Sink* sink);
  ~LocalGets() override;
  LocalGets(const LocalGets&) = delete;
  LocalGets& operator=(const LocalGets&) = delete;

  absl::StatusOr<SharedRegion> Allocate(size_t bytes) override;
  // Any memory that the device can copy from; fast only if it is the device's, or page-locked.
  absl::StatusOr<SharedRegion> Register(void* base, size_t bytes) override;
  std::string Address() const override;
  absl::StatusOr<PeerId> Connect(std::string_view address) override;
  absl::StatusOr<RegionId> ImportRegion(PeerId peer, std::string_view packed_key,
                                        uint64_t remote_base, size_t bytes) override;
  void Get(PeerId peer, RegionId region, uint64_t offset, void* to, size_t bytes,
           uint64_t token) override;
  void Close(PeerId peer) override;
  std::string Describe(PeerId peer) const override;
  std::string Summary() const override { return "copies within the process"; }
  bool Progress() override;
  int EventFd() const override { return -1; }
  bool Arm() override { return batches_.empty() && open_.gets.empty() && done_.empty(); }

 private:
  struct Import {
    PeerId peer = 0;
    std::shared_ptr<LocalRegion> region;
  };
  struct Issued {
    uint64_t token = 0;
    std::shared_ptr<LocalRegion> region;  // entered
  };
  // Gets that one event tells the end of.
  struct Batch {
    std::vector<Issued> gets;
    OwnedEvent event;
  };

  LocalGets(CudaDriver* driver, Sink* sink) : driver_(driver), sink_(sink) {}
  absl::Status Open(int device);
  absl::Status Issue(const Import& import, uint64_t offset, void* to, size_t bytes);
  // Ends the batch that is open, so that its event can come.
  void Seal();
  absl::StatusOr<OwnedEvent> TakeEvent();
  void Finish(Batch& batch, const absl::Status& status);

  CudaDriver* const driver_;
  Sink* const sink_;
  CudaPrimary primary_;
  OwnedStream stream_;
  std::vector<std::string> keys_;  // of what is shared
  PeerId last_peer_ = 0;
  RegionId last_region_ = 0;
  std::map<RegionId, Import> imports_;
  Batch open_;                                           // no event yet
  std::deque<Batch> batches_;                            // in the order of the stream
  std::vector<OwnedEvent> events_;                       // of batches that have ended
  std::vector<std::pair<uint64_t, absl::Status>> done_;  // for OnGetDone, from the next Progress
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_LOCAL_GETS_H_
