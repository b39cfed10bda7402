// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/bare_messages.h"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "bench/bare_role.h"
#include "bench/bare_settings.h"
#include "bench/tensors.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/ucx/ucx_status.h"

namespace tensorhub::bench {
namespace {

constexpr unsigned kMessageId = 1;

// As large as the agent's header.
struct Header {
  enum class Kind : uint64_t { kCredit, kData };
  Kind kind = Kind::kData;
  uint64_t at = 0;  // credit: bytes below it may be sent; data: where the frame belongs
  char padding[agent::kPeerHeaderBytes - 2 * sizeof(uint64_t)] = {};
};
static_assert(sizeof(Header) == agent::kPeerHeaderBytes);

class BareMessages {
 public:
  BareMessages(const BareSettings& settings, std::unique_ptr<MemoryBlock> block,
               std::unique_ptr<agent::UcxWorker> worker)
      : settings_(settings), block_(std::move(block)), worker_(std::move(worker)) {}
  ~BareMessages() { DisconnectBare(*worker_, peer_); }
  BareMessages(const BareMessages&) = delete;
  BareMessages& operator=(const BareMessages&) = delete;

  absl::Status Open();
  absl::Status Connect(const std::string& line);
  absl::Status Serve();
  absl::StatusOr<double> Read();
  std::string Digest() const { return DigestOf(block_->data(), block_->bytes()); }

 private:
  // A send under way and the header that it reads from.
  struct SendOp {
    BareMessages* owner = nullptr;
    Header header;
    uint64_t bytes = 0;
  };

  static ucs_status_t OnMessage(void* self, const void* header, size_t header_bytes, void* data,
                                size_t bytes, const ucp_am_recv_param_t* param);
  static void OnSent(void* request, ucs_status_t status, void* op);
  static void OnArrived(void* request, ucs_status_t status, size_t bytes, void* self);

  void Send(const Header& header, uint64_t bytes);
  void FinishSend(SendOp* op, ucs_status_t status);
  void RaiseCredit();
  void Fail(ucs_status_t status) {
    if (failure_.ok()) failure_ = agent::UcxStatus(status, "bare active message");
  }

  const BareSettings settings_;
  const std::unique_ptr<MemoryBlock> block_;
  const std::unique_ptr<agent::UcxWorker> worker_;
  ucp_ep_h peer_ = nullptr;
  absl::Status failure_;
  std::vector<std::unique_ptr<SendOp>> ops_;
  std::vector<SendOp*> free_ops_;
  uint64_t credit_ = 0;     // source: granted; reader: asked for
  uint64_t in_flight_ = 0;  // source
  uint64_t issued_ = 0;     // source
  uint64_t received_ = 0;   // reader
};

absl::Status BareMessages::Open() {
  return worker_->TakeMessages(kMessageId, &BareMessages::OnMessage, this);
}

absl::Status BareMessages::Connect(const std::string& line) {
  const absl::StatusOr<std::string> address = AddressArgument(line, "address");
  if (!address.ok()) return address.status();
  absl::StatusOr<ucp_ep_h> peer =
      ConnectBare(*worker_, agent::EnvelopeKind::kMessageAddress, *address);
  if (!peer.ok()) return peer.status();
  peer_ = *peer;
  return absl::OkStatus();
}

void BareMessages::Send(const Header& header, uint64_t bytes) {
  if (free_ops_.empty()) {
    ops_.push_back(std::make_unique<SendOp>());
    free_ops_.push_back(ops_.back().get());
  }
  SendOp* op = free_ops_.back();
  free_ops_.pop_back();
  *op = {this, header, bytes};
  ucp_request_param_t params = {};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_DATATYPE;
  params.cb.send = &BareMessages::OnSent;
  params.user_data = op;
  params.datatype = ucp_dt_make_contig(1);
  in_flight_ += bytes;
  const void* data = bytes == 0 ? nullptr : block_->data() + header.at;
  const ucs_status_ptr_t result =
      ucp_am_send_nbx(peer_, kMessageId, &op->header, sizeof(op->header), data, bytes, &params);
  if (!UCS_PTR_IS_PTR(result)) FinishSend(op, UCS_PTR_STATUS(result));
}

void BareMessages::OnSent(void* request, ucs_status_t status, void* op) {
  auto* done = static_cast<SendOp*>(op);
  ucp_request_free(request);
  done->owner->FinishSend(done, status);
}

void BareMessages::FinishSend(SendOp* op, ucs_status_t status) {
  if (status != UCS_OK) Fail(status);
  in_flight_ -= op->bytes;
  free_ops_.push_back(op);
}

ucs_status_t BareMessages::OnMessage(void* self, const void* header, size_t /*header_bytes*/,
                                     void* data, size_t bytes, const ucp_am_recv_param_t* param) {
  auto* bare = static_cast<BareMessages*>(self);
  Header head;
  std::memcpy(&head, header, sizeof(head));
  if (head.kind == Header::Kind::kCredit) {
    bare->credit_ = head.at;
    return UCS_OK;
  }
  std::byte* place = bare->block_->data() + head.at;
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
    std::memcpy(place, data, bytes);
    bare->received_ += bytes;
    return UCS_OK;
  }
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  params.datatype = ucp_dt_make_contig(1);
  params.cb.recv_am = &BareMessages::OnArrived;
  params.user_data = bare;
  const ucs_status_ptr_t result =
      ucp_am_recv_data_nbx(bare->worker_->worker(), data, place, bytes, &params);
  if (UCS_PTR_IS_ERR(result)) bare->Fail(UCS_PTR_STATUS(result));
  return UCS_INPROGRESS;
}

void BareMessages::OnArrived(void* request, ucs_status_t status, size_t bytes, void* self) {
  auto* bare = static_cast<BareMessages*>(self);
  ucp_request_free(request);
  if (status != UCS_OK) return bare->Fail(status);
  bare->received_ += bytes;
}

absl::Status BareMessages::Serve() {
  credit_ = issued_ = 0;
  BareLoop loop(*worker_);
  while (failure_.ok() && (issued_ < settings_.bytes || in_flight_ > 0)) {
    while (issued_ < credit_ && in_flight_ < settings_.send_ahead_bytes) {
      const uint64_t bytes = std::min(settings_.frame_bytes, settings_.bytes - issued_);
      const uint64_t at = std::exchange(issued_, issued_ + bytes);
      Send({.kind = Header::Kind::kData, .at = at}, bytes);
    }
    loop.Turn();
  }
  if (!failure_.ok()) return failure_;
  // A send is complete once UCX has the bytes; nobody progresses this worker between rounds, so the
  // last of them would never leave.
  ucp_request_param_t params = {};
  const ucs_status_ptr_t flush = ucp_worker_flush_nbx(worker_->worker(), &params);
  if (!UCS_PTR_IS_PTR(flush)) return agent::UcxStatus(UCS_PTR_STATUS(flush), "bare flush");
  while (ucp_request_check_status(flush) == UCS_INPROGRESS) loop.Turn();
  const ucs_status_t flushed = ucp_request_check_status(flush);
  ucp_request_free(flush);
  return agent::UcxStatus(flushed, "bare flush");
}

void BareMessages::RaiseCredit() {
  const uint64_t wanted = std::min(settings_.bytes, received_ + settings_.window_bytes);
  if (wanted == credit_) return;
  if (wanted < settings_.bytes && wanted - credit_ < settings_.window_bytes / 2) return;
  credit_ = wanted;
  Send({.kind = Header::Kind::kCredit, .at = credit_}, 0);
}

absl::StatusOr<double> BareMessages::Read() {
  credit_ = received_ = 0;
  BareLoop loop(*worker_);
  const auto start = std::chrono::steady_clock::now();
  while (failure_.ok() && received_ < settings_.bytes) {
    RaiseCredit();
    loop.Turn();
  }
  if (!failure_.ok()) return failure_;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

absl::Status PlayMessages(const Fields& args) {
  const absl::StatusOr<BareRole> role = BareRole::Parse(args);
  if (!role.ok()) return role.status();
  absl::StatusOr<std::unique_ptr<MemoryBlock>> block = MemoryBlock::Make(role->settings.bytes);
  if (!block.ok()) return block.status();
  if (role->is_source) Fill((*block)->data(), (*block)->bytes(), kBareSeed);
  absl::StatusOr<std::unique_ptr<agent::UcxWorker>> worker =
      agent::UcxWorker::Create({.name = "bare-messages",
                                .features = UCP_FEATURE_AM,
                                .settings = agent::MessageSettings(),
                                .transports = "",
                                .address_kind = agent::EnvelopeKind::kMessageAddress});
  if (!worker.ok()) return worker.status();
  const std::string address = absl::BytesToHexString((*worker)->address());
  BareMessages bare(role->settings, *std::move(block), *std::move(worker));
  if (absl::Status status = bare.Open(); !status.ok()) return status;
  AnswerOk(absl::StrCat("address=", address));
  AnswerCommands([&](const std::string& line) { return RunBareCommand(bare, line); });
  return absl::OkStatus();
}

}  // namespace

int RunBareMessages(const Fields& args) { return EndRole(PlayMessages(args)); }

}  // namespace tensorhub::bench
