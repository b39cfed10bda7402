// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// GetTransport over UCX, limited to what is truly one-sided in every UCX since 1.13: shared memory
// that UCX allocated, on posix and sysv, with protocols v1. Elsewhere UCX lets the source's CPU
// emulate the get; ImportRegion refuses there.
//
// Trust: a peer on this host that truncates its shared memory on purpose can crash a reader.
//
// Thread contract: created, used and destroyed on the progress thread. The destructor runs no
// callbacks; once it returned no get touches memory any more.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_GETS_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_GETS_H_

#include <ucp/api/ucp.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/transport.h"
#include "worker_agent/ucx/ucx_endpoints.h"
#include "worker_agent/ucx/ucx_worker.h"

namespace tensorhub::agent {

class UcxGets : public GetTransport {
 public:
  // `sink` must outlive the transport.
  static absl::StatusOr<std::unique_ptr<UcxGets>> Create(Sink* sink);
  ~UcxGets() override;
  UcxGets(const UcxGets&) = delete;
  UcxGets& operator=(const UcxGets&) = delete;

  absl::StatusOr<SharedRegion> Allocate(size_t bytes) override;
  std::string Address() const override { return worker_->address(); }
  absl::StatusOr<PeerId> Connect(std::string_view address) override;
  absl::StatusOr<RegionId> ImportRegion(PeerId peer, std::string_view packed_key,
                                        uint64_t remote_base, size_t bytes) override;
  void Get(PeerId peer, RegionId region, uint64_t offset, void* to, size_t bytes,
           uint64_t token) override;
  void Close(PeerId peer) override;
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
  };
  // A get that UCX did not complete at once. UCX's callback deletes it.
  struct GetOp {
    UcxGets* owner = nullptr;
    UcxEndpoint* endpoint = nullptr;
    uint64_t token = 0;
  };

  explicit UcxGets(Sink* sink) : sink_(sink) {}
  absl::Status Open();
  absl::StatusOr<std::string> PackKey(ucp_mem_h memory, uint64_t base, size_t bytes) const;
  // The import, if the bounds are right and the peer is the one it was made for.
  absl::StatusOr<const Import*> CheckGet(PeerId peer, RegionId region, uint64_t offset,
                                         size_t bytes) const;
  static void OnGetCompleted(void* request, ucs_status_t status, void* op);

  Sink* const sink_;
  bool with_sysv_ = true;  // this context may allocate by sysv
  std::unique_ptr<UcxWorker> worker_;
  std::unique_ptr<UcxEndpoints> endpoints_;
  RegionId last_id_ = 0;
  std::vector<ucp_mem_h> regions_;
  std::unordered_map<RegionId, Import> imports_;
  std::vector<std::pair<uint64_t, absl::Status>> done_;  // for OnGetDone, from the next Progress
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_GETS_H_
