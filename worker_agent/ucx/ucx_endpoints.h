// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The connections of one worker: creation, failure, and the force-close that R4 rests on.
//
// Invariants:
// 1. UCX's error callback only marks the endpoint and queues its failure (UCX forbids more there).
// 2. `Close` only queues; `RunCloses`, outside of any UCX callback, closes.
// 3. An endpoint is forgotten when it is closed *and* every operation on it has completed; until
//    then its memory must be left alone. Keys unpacked for it go before it where that is possible,
//    at the latest with the last operation.
//
// Thread contract: the worker's thread.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_ENDPOINTS_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_ENDPOINTS_H_

#include <ucp/api/ucp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/core/transport.h"
#include "worker_agent/ucx/ucx_envelope.h"
#include "worker_agent/ucx/ucx_worker.h"

namespace tensorhub::agent {

class UcxEndpoints;

struct UcxEndpoint {
  UcxEndpoints* owner = nullptr;  // null once leaked (~UcxEndpoints)
  PeerId id = 0;
  ucp_ep_h ep = nullptr;
  uint64_t outstanding = 0;    // operations whose callback has not come yet
  uint64_t waiting_bytes = 0;  // of messages among them, for whoever counts those
  bool close_wanted = false;   // no new operations
  bool ep_closed = false;      // `ep` is gone
  absl::Status failure;        // not OK: the error callback came, or Fail
  ucs_status_ptr_t close_request = nullptr;
  std::vector<ucp_rkey_h> keys;  // owned
};

class UcxEndpoints {
 public:
  explicit UcxEndpoints(UcxWorker* worker) : worker_(worker) {}
  // Force-closes what is left and progresses until it is gone (bounded, see the implementation).
  ~UcxEndpoints();
  UcxEndpoints(const UcxEndpoints&) = delete;
  UcxEndpoints& operator=(const UcxEndpoints&) = delete;

  // INVALID_ARGUMENT: malformed; UNAVAILABLE: no transport reaches it.
  absl::StatusOr<PeerId> Connect(EnvelopeKind kind, std::string_view address);
  // The endpoint if new operations may start on it, else null.
  UcxEndpoint* Usable(PeerId peer);
  // Why `Usable` said no.
  absl::Status Unusable(PeerId peer) const;
  // Has it reported as failed.
  void Fail(UcxEndpoint* endpoint, const absl::Status& why);
  void Close(PeerId peer);
  std::string Describe(PeerId peer) const;

  // Carries out what Close queued and forgets what is finished.
  void RunCloses();
  // Failures since the last call, without those of peers that were closed meanwhile.
  std::vector<std::pair<PeerId, absl::Status>> TakeFailures();
  // True: a Progress call has something to do although no event may come for it.
  bool has_work() const { return !failures_.empty() || (!closing_.empty() && !waiting_for_ucx_); }

 private:
  static void OnError(void* endpoint, ucp_ep_h ep, ucs_status_t status);
  void StartClose(UcxEndpoint* endpoint);
  // True once nothing of it is left in UCX.
  bool IsFinished(UcxEndpoint* endpoint);

  UcxWorker* const worker_;
  PeerId last_id_ = 0;
  std::unordered_map<PeerId, std::unique_ptr<UcxEndpoint>> endpoints_;
  std::vector<PeerId> closing_;
  bool waiting_for_ucx_ = false;  // all of `closing_` wait for UCX's callbacks
  std::vector<PeerId> failures_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_ENDPOINTS_H_
