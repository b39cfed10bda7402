// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// MessageTransport over UCX active messages, with a context of its own that offers nothing but
// those: no peer can make this process read or write memory that it names.
//
// Thread contract: created, used and destroyed on the progress thread. The destructor runs no
// callbacks; once it returned no send touches memory any more.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_MESSAGES_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_MESSAGES_H_

#include <ucp/api/ucp.h>

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
#include "worker_agent/ucx/gather.h"
#include "worker_agent/ucx/ucx_endpoints.h"
#include "worker_agent/ucx/ucx_hearing.h"
#include "worker_agent/ucx/ucx_settings.h"
#include "worker_agent/ucx/ucx_worker.h"

namespace tensorhub::agent {

class UcxMessages : public MessageTransport {
 public:
  // What it goes by: UCX_TLS and UCX_NET_DEVICES of its context. Devices empty: the environment's.
  struct Lanes {
    std::string transports;
    std::string devices;
  };

  // `sink` must outlive the transport.
  static absl::StatusOr<std::unique_ptr<UcxMessages>> Create(Sink* sink, const Lanes& lanes);
  ~UcxMessages() override;
  UcxMessages(const UcxMessages&) = delete;
  UcxMessages& operator=(const UcxMessages&) = delete;

  std::string Address() const override { return worker_->address(); }
  size_t MaxPayloadBytes() const override { return kMaxPayloadBytes; }
  size_t WholePayloadBytes(PeerId peer) const override;
  absl::StatusOr<PeerId> Connect(std::string_view address) override;
  void Send(PeerId peer, std::string_view header, std::span<const ConstPiece> pieces,
            uint64_t token) override;
  void Close(PeerId peer) override { endpoints_->Close(peer); }
  void SelfTestReceive() override { hearing_wanted_ = true; }
  void Abandon() override { worker_->Abandon(); }
  std::string Describe(PeerId peer) const override { return endpoints_->Describe(peer); }
  std::string Summary() const override { return worker_->Summary(); }
  bool Progress() override;
  int EventFd() const override { return worker_->event_fd(); }
  bool Arm() override;

 private:
  // A send under way; UCX points into it until its callback. Recycled.
  struct SendOp {
    UcxMessages* owner = nullptr;
    UcxEndpoint* endpoint = nullptr;
    uint64_t token = 0;
    std::string header;
    std::vector<ucp_dt_iov_t> pieces;
    Gather gather;  // of the pieces, where they are too many to be sent from where they lie
  };
  // A message by rendezvous (only if the environment asks for it) on its way into `payload`.
  struct Rendezvous {
    UcxMessages* owner = nullptr;
    std::string header;
    std::string payload;
  };

  explicit UcxMessages(Sink* sink) : sink_(sink) {}
  absl::Status Open(const Lanes& lanes);

  SendOp* TakeOp();
  void DeliverArrived();
  static uint64_t WaitingBytes(const SendOp& op);
  UcxEndpoint* Taking(PeerId peer);
  void Begin(PeerId peer, SendOp* op);
  ucs_status_ptr_t StartSend(SendOp* op);
  void FinishSend(SendOp* op, ucs_status_t status);
  bool ReceiveRendezvous(std::string_view header, void* descriptor, size_t bytes);
  bool DeliverQueued();
  void RunHearing();

  static void OnSendDone(void* request, ucs_status_t status, void* op);
  static ucs_status_t OnActiveMessage(void* self, const void* header, size_t header_bytes,
                                      void* data, size_t bytes, const ucp_am_recv_param_t* param);
  static void OnRendezvousDone(void* request, ucs_status_t status, size_t bytes, void* rendezvous);

  Sink* const sink_;
  // Ops and buffers outlive the worker, which is destroyed first (see the destructor).
  std::vector<std::unique_ptr<SendOp>> ops_;
  std::vector<SendOp*> free_ops_;
  // Messages without a payload wait until UCX has returned: they lead to new connections, and UCX
  // 1.13.1 crashes (null in uct_tcp) when one is made to a peer from within its own message, just
  // as the peer's old connection breaks. What arrives behind such a message waits too, for the
  // order.
  std::vector<std::pair<std::string, std::string>> arrived_;
  // What is sent from within a message's delivery waits until UCX has returned, too: if that fails,
  // because the other peer has just died, UCX 1.13.1 closes a connection of which it may have an
  // event still at hand, and aborts (tcp_iface.c:307).
  bool inside_ucx_ = false;
  std::vector<std::pair<PeerId, SendOp*>> deferred_;
  std::unordered_map<Rendezvous*, std::unique_ptr<Rendezvous>> rendezvous_;
  std::vector<std::pair<uint64_t, absl::Status>> sent_;  // for OnSent, from the next Progress
  std::vector<std::pair<uint64_t, absl::Status>> sent_scratch_;
  std::unique_ptr<UcxWorker> worker_;
  std::unique_ptr<UcxEndpoints> endpoints_;
  std::unique_ptr<UcxHearing> hearing_;
  bool hearing_wanted_ = false;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_MESSAGES_H_
