// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_messages.h"

#include <cstdint>
#include <utility>

#include "common/check.h"
#include "worker_agent/ucx/ucx_status.h"

namespace tensorhub::agent {
namespace {

constexpr unsigned kMessageId = 1;
// What waits for one peer, at most. The longest that an honest one asks for at once is the list of
// a shard's digests: half of this for 512 GB in chunks of 512 KiB.
constexpr uint64_t kWaitingMax = 32 << 20;
// Bytes of a message besides its text: UCX's request, and ours.
constexpr uint64_t kRequestBytes = 1024;

}  // namespace

absl::StatusOr<std::unique_ptr<UcxMessages>> UcxMessages::Create(Sink* sink, const Lanes& lanes) {
  std::unique_ptr<UcxMessages> messages(new UcxMessages(sink));
  if (absl::Status status = messages->Open(lanes); !status.ok()) return status;
  return messages;
}

absl::Status UcxMessages::Open(const Lanes& lanes) {
  UcxWorker::Options options;
  options.name = "tensorhub-messages";
  options.features = UCP_FEATURE_AM;
  options.settings = MessageSettings();
  options.transports = lanes.transports;
  options.devices = lanes.devices;
  absl::StatusOr<std::unique_ptr<UcxWorker>> worker = UcxWorker::Create(options);
  if (!worker.ok()) return worker.status();
  worker_ = *std::move(worker);
  endpoints_ = std::make_unique<UcxEndpoints>(worker_.get());
  hearing_ = std::make_unique<UcxHearing>(worker_.get(), endpoints_.get());
  if (absl::Status status = hearing_->Open(); !status.ok()) return status;
  return worker_->TakeMessages(kMessageId, &UcxMessages::OnActiveMessage, this);
}

UcxMessages::~UcxMessages() {
  if (worker_ == nullptr) return;
  // Draining progresses the worker; what still arrives then has nobody to go to.
  ucp_am_handler_param_t handler = {};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB;
  handler.id = kMessageId;
  ucp_worker_set_am_recv_handler(worker_->worker(), &handler);
  endpoints_.reset();
  worker_.reset();
}

absl::StatusOr<PeerId> UcxMessages::Connect(std::string_view address) {
  return endpoints_->Connect(EnvelopeKind::kMessageAddress, address);
}

size_t UcxMessages::WholePayloadBytes(PeerId peer) const {
  return IsSharedMemory(Describe(peer)) ? kSharedMemoryPayloadBytes : kMaxPayloadBytes;
}

UcxMessages::SendOp* UcxMessages::TakeOp() {
  if (free_ops_.empty()) {
    ops_.push_back(std::make_unique<SendOp>());
    ops_.back()->owner = this;
    free_ops_.push_back(ops_.back().get());
  }
  SendOp* op = free_ops_.back();
  free_ops_.pop_back();
  return op;
}

void UcxMessages::Send(PeerId peer, std::string_view header, std::span<const ConstPiece> pieces,
                       uint64_t token) {
  SendOp* op = TakeOp();
  op->token = token;
  op->header.assign(header);
  op->pieces.clear();
  for (const ConstPiece& piece : pieces) {
    if (piece.bytes > 0) op->pieces.push_back({const_cast<void*>(piece.data), piece.bytes});
  }
  if (inside_ucx_) {
    deferred_.emplace_back(peer, op);
  } else {
    Begin(peer, op);
  }
}

uint64_t UcxMessages::WaitingBytes(const SendOp& op) { return kRequestBytes + op.header.size(); }

// A process that is stopped takes nothing, for days perhaps, and a hostile one may ask all the
// while (R9): whoever lets so much wait for it is given up.
UcxEndpoint* UcxMessages::Taking(PeerId peer) {
  UcxEndpoint* const endpoint = endpoints_->Usable(peer);
  if (endpoint == nullptr || endpoint->waiting_bytes < kWaitingMax) return endpoint;
  endpoints_->Fail(endpoint, absl::UnavailableError("the peer takes no messages any more"));
  return nullptr;
}

void UcxMessages::Begin(PeerId peer, SendOp* op) {
  op->endpoint = Taking(peer);
  if (op->endpoint == nullptr) {
    if (op->token != 0) sent_.emplace_back(op->token, endpoints_->Unusable(peer));
    free_ops_.push_back(op);
    return;
  }
  ++op->endpoint->outstanding;
  op->endpoint->waiting_bytes += WaitingBytes(*op);
  const ucs_status_ptr_t result = StartSend(op);
  if (!UCS_PTR_IS_PTR(result)) FinishSend(op, UCS_PTR_STATUS(result));
}

// One piece goes as contiguous memory, and a few as a list, which TCP sends from where they lie;
// many are gathered straight into the transport's segment. A longer list must not reach UCX: its
// zcopy aborts (ucx_settings.cc). Eager whatever the environment says: rendezvous over shared
// memory hangs in 1.13.1 with some segment sizes.
ucs_status_ptr_t UcxMessages::StartSend(SendOp* op) {
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  params.cb.send = &UcxMessages::OnSendDone;
  params.user_data = op;
  const void* buffer = op->pieces.data();
  size_t count = op->pieces.size();
  params.datatype = ucp_dt_make_iov();
  if (op->pieces.size() <= 1) {
    params.datatype = ucp_dt_make_contig(1);
    buffer = op->pieces.empty() ? nullptr : op->pieces[0].buffer;
    count = op->pieces.empty() ? 0 : op->pieces[0].length;
  } else if (op->pieces.size() > kPiecesInPlace) {
    params.datatype = Gather::Datatype();
    op->gather.Start(op->pieces);
    buffer = &op->gather;
    count = 1;
  }
  return ucp_am_send_nbx(op->endpoint->ep, kMessageId, op->header.data(), op->header.size(), buffer,
                         count, &params);
}

void UcxMessages::OnSendDone(void* request, ucs_status_t status, void* op) {
  auto* done = static_cast<SendOp*>(op);
  ucp_request_free(request);
  done->owner->FinishSend(done, status);
}

void UcxMessages::FinishSend(SendOp* op, ucs_status_t status) {
  TH_CHECK(op->endpoint->outstanding > 0);
  --op->endpoint->outstanding;
  op->endpoint->waiting_bytes -= WaitingBytes(*op);
  if (op->token != 0) sent_.emplace_back(op->token, UcxStatus(status, "sending to the peer"));
  free_ops_.push_back(op);
}

ucs_status_t UcxMessages::OnActiveMessage(void* self, const void* header, size_t header_bytes,
                                          void* data, size_t bytes,
                                          const ucp_am_recv_param_t* param) {
  auto* messages = static_cast<UcxMessages*>(self);
  const std::string_view head(static_cast<const char*>(header), header_bytes);
  if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
    return messages->ReceiveRendezvous(head, data, bytes) ? UCS_INPROGRESS : UCS_OK;
  }
  const std::string_view payload(static_cast<const char*>(data), bytes);
  if (payload.empty() || !messages->arrived_.empty()) {
    messages->arrived_.emplace_back(head, payload);
  } else {
    messages->sink_->OnMessage(head, payload);
  }
  return UCS_OK;  // UCX takes the data back
}

// Peers of ours send eagerly; should another build not, payload messages may overtake each other
// here, which the protocol above tolerates.
bool UcxMessages::ReceiveRendezvous(std::string_view header, void* descriptor, size_t bytes) {
  if (bytes > kMaxPayloadBytes) return false;  // no peer of ours sends that; dropped
  auto owned = std::make_unique<Rendezvous>();
  Rendezvous* rendezvous = owned.get();
  rendezvous->owner = this;
  rendezvous->header.assign(header);
  rendezvous->payload.resize(bytes);
  rendezvous_.emplace(rendezvous, std::move(owned));
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  params.datatype = ucp_dt_make_contig(1);
  params.cb.recv_am = &UcxMessages::OnRendezvousDone;
  params.user_data = rendezvous;
  const ucs_status_ptr_t result = ucp_am_recv_data_nbx(worker_->worker(), descriptor,
                                                       rendezvous->payload.data(), bytes, &params);
  if (UCS_PTR_IS_ERR(result)) rendezvous_.erase(rendezvous);
  return true;
}

void UcxMessages::OnRendezvousDone(void* request, ucs_status_t status, size_t /*bytes*/,
                                   void* rendezvous) {
  auto* done = static_cast<Rendezvous*>(rendezvous);
  UcxMessages* self = done->owner;
  ucp_request_free(request);
  // While the transport is being destroyed there are no endpoints and nobody to tell.
  if (status == UCS_OK && self->endpoints_ != nullptr) {
    self->sink_->OnMessage(done->header, done->payload);
  }
  self->rendezvous_.erase(done);
}

void UcxMessages::DeliverArrived() {
  const auto arrived = std::exchange(arrived_, {});
  for (const auto& [header, payload] : arrived) sink_->OnMessage(header, payload);
}

bool UcxMessages::Progress() {
  inside_ucx_ = true;
  bool any = worker_->Progress();
  inside_ucx_ = false;
  const auto deferred = std::exchange(deferred_, {});
  for (const auto& [peer, op] : deferred) Begin(peer, op);
  DeliverArrived();
  RunHearing();
  endpoints_->RunCloses();
  any = DeliverQueued() || any;
  return any;
}

void UcxMessages::RunHearing() {
  if (std::exchange(hearing_wanted_, false)) hearing_->Test();
  if (hearing_->testing() && hearing_->IsDeaf()) {
    sink_->OnDeaf(
        "a peer on this host was killed or stopped in the middle of a message, and "
        "nothing arrives behind it");
  }
}

bool UcxMessages::DeliverQueued() {
  // The sink may send, which queues more: that is for the next call.
  sent_scratch_.clear();
  sent_scratch_.swap(sent_);
  for (const auto& [token, status] : sent_scratch_) sink_->OnSent(token, status);
  const auto failures = endpoints_->TakeFailures();
  for (const auto& [peer, status] : failures) {
    hearing_->Owns(peer) ? hearing_->OnFailure() : sink_->OnPeerFailed(peer, status);
  }
  return !sent_scratch_.empty() || !failures.empty();
}

bool UcxMessages::Arm() {
  if (!sent_.empty() || endpoints_->has_work()) return false;
  if (hearing_wanted_ || hearing_->testing()) return false;
  return worker_->Arm();
}

}  // namespace tensorhub::agent
