// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// GetTransport over UCX, limited to what is truly one-sided; elsewhere UCX lets the source's CPU
// emulate the get, and ImportRegion refuses. Of two kinds:
// kSharedMemory: memory that UCX allocated, on posix and sysv, and mapped into the reader. A get is
// a copy from there: of UCX's own gets 1.22 has none on shared memory that would leave the source's
// CPU alone, and 1.13 only by protocols that 1.22 has dropped. kDevice: memory of a GPU that is
// there already, by UCX's gets over cuda_ipc and RDMA; from UCX 1.19 on, since before it emulates
// such gets under peer error handling.
//
// Trust: a peer on this host that truncates its shared memory on purpose can crash a reader. A peer
// that reaches a worker of kind kDevice can have it read any of its memory, by UCX's emulation.
//
// Thread contract: created, used and destroyed on the progress thread; with kDevice the device's
// context is current there. The destructor runs no callbacks; once it returned no get touches
// memory any more.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_GETS_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_GETS_H_

#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/core/transport.h"
#include "worker_agent/ucx/ucx_endpoints.h"
#include "worker_agent/ucx/ucx_worker.h"

namespace tensorhub::agent {

class UcxGets : public GetTransport {
 public:
  enum class Kind { kSharedMemory, kDevice };

  // `sink` must outlive the transport. kDevice: FAILED_PRECONDITION if this UCX is too old, or has
  // no CUDA in it; the message says what to do.
  static absl::StatusOr<std::unique_ptr<UcxGets>> Create(Sink* sink,
                                                         Kind kind = Kind::kSharedMemory);
  ~UcxGets() override;
  UcxGets(const UcxGets&) = delete;
  UcxGets& operator=(const UcxGets&) = delete;

  // FAILED_PRECONDITION with kDevice.
  absl::StatusOr<SharedRegion> Allocate(size_t bytes) override;
  // FAILED_PRECONDITION without kDevice.
  absl::StatusOr<SharedRegion> Register(void* base, size_t bytes) override;
  std::string Address() const override { return worker_->address(); }
  absl::StatusOr<PeerId> Connect(std::string_view address) override;
  absl::StatusOr<RegionId> ImportRegion(PeerId peer, std::string_view packed_key,
                                        uint64_t remote_base, size_t bytes) override;
  void Get(PeerId peer, RegionId region, uint64_t offset, void* to, size_t bytes,
           uint64_t token) override;
  size_t GetAll(PeerId peer, std::span<const Part> parts, uint64_t token) override;
  void Close(PeerId peer) override;
  void End() override;
  std::string Describe(PeerId peer) const override { return endpoints_->Describe(peer); }
  std::string Summary() const override { return worker_->Summary(); }
  bool Progress() override;
  int EventFd() const override { return worker_->event_fd(); }
  bool Arm() override;

 private:
  struct Import {
    PeerId peer = 0;
    ucp_rkey_h key = nullptr;  // owned by the endpoint
    uint64_t remote_base = 0;
    size_t bytes = 0;
    const std::byte* local = nullptr;  // kSharedMemory: where it is in this process
  };
  // A get that UCX did not complete at once. UCX's callback deletes it.
  struct GetOp {
    UcxGets* owner = nullptr;
    UcxEndpoint* endpoint = nullptr;
    uint64_t token = 0;
  };

  // Memory of this process that UCX knows.
  struct Region {
    ucp_mem_h memory = nullptr;
    const std::byte* base = nullptr;
    size_t bytes = 0;
  };

  UcxGets(Sink* sink, Kind kind) : sink_(sink), kind_(kind) {}
  absl::Status Open();
  UcxWorker::Options WorkerOptions();
  absl::StatusOr<SharedRegion> Keep(ucp_mem_h memory, void* base, size_t bytes);
  absl::StatusOr<Import> Unpack(const UcxEndpoint& endpoint, std::string_view packed, uint64_t base,
                                size_t bytes) const;
  void Fetch(UcxEndpoint* endpoint, const Import& import, uint64_t offset, void* to, size_t bytes,
             uint64_t token);
  static void OnGetCompleted(void* request, ucs_status_t status, void* op);
  // The handle that covers this memory; null if there is none.
  ucp_mem_h HandleOf(const void* data, size_t bytes) const;
  absl::StatusOr<std::string> PackKey(ucp_mem_h memory, uint64_t base, size_t bytes) const;
  // The import, if the bounds are right and the peer is the one it was made for.
  absl::StatusOr<const Import*> CheckGet(PeerId peer, RegionId region, uint64_t offset,
                                         size_t bytes) const;

  Sink* const sink_;
  const Kind kind_;
  bool with_sysv_ = true;  // this context may allocate by sysv
  std::unique_ptr<UcxWorker> worker_;
  std::unique_ptr<UcxEndpoints> endpoints_;
  RegionId last_id_ = 0;
  std::vector<Region> regions_;
  std::unordered_map<RegionId, Import> imports_;
  std::vector<std::pair<uint64_t, absl::Status>> done_;  // for OnGetDone, from the next Progress
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_GETS_H_
