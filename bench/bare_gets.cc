// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/bare_gets.h"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "bench/bare_role.h"
#include "bench/tensors.h"
#include "worker_agent/ucx/ucx_status.h"

namespace tensorhub::bench {
namespace {

// Protocols v1 have them; with v2, which is all that UCX has since 1.22, the source would have to
// work.
bool HasOneSidedGets() {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  return major == 1 && minor < 22;
}

std::vector<agent::UcxSetting> Settings() {
  const auto usual = agent::GetSettings();
  std::vector<agent::UcxSetting> settings(usual.begin(), usual.end());
  if (HasOneSidedGets()) settings.push_back({"PROTO_ENABLE", "n", "v2 has the source work"});
  return settings;
}

class BareGets {
 public:
  BareGets(const BareSettings& settings, std::unique_ptr<agent::UcxWorker> worker)
      : settings_(settings), worker_(std::move(worker)) {}
  ~BareGets();
  BareGets(const BareGets&) = delete;
  BareGets& operator=(const BareGets&) = delete;

  // The source: allocates and fills; its key and address as an answer.
  absl::StatusOr<std::string> Offer();
  // The reader: its buffer.
  absl::Status Prepare();
  absl::Status Connect(const std::string& line);
  // Nothing is to be done: gets need no source.
  static absl::Status Serve() { return absl::OkStatus(); }
  absl::StatusOr<double> Read();
  std::string Digest() const { return DigestOf(data_, settings_.bytes); }

 private:
  static void OnDone(void* request, ucs_status_t status, void* self);
  void Finish(ucs_status_t status);
  void Get(uint64_t at, uint64_t bytes);

  const BareSettings settings_;
  const std::unique_ptr<agent::UcxWorker> worker_;
  std::unique_ptr<MemoryBlock> block_;  // reader
  ucp_mem_h memory_ = nullptr;          // source
  std::byte* data_ = nullptr;
  ucp_ep_h peer_ = nullptr;
  ucp_rkey_h key_ = nullptr;
  const std::byte* mapped_ = nullptr;  // the source's memory, where UCX has no gets for it
  uint64_t remote_base_ = 0;
  uint64_t outstanding_ = 0;
  absl::Status failure_;
};

BareGets::~BareGets() {
  if (key_ != nullptr) ucp_rkey_destroy(key_);
  DisconnectBare(*worker_, peer_);
  if (memory_ != nullptr) ucp_mem_unmap(worker_->context(), memory_);
}

absl::StatusOr<std::string> BareGets::Offer() {
  ucp_mem_map_params_t params = {};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.length = settings_.bytes;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  ucs_status_t status = ucp_mem_map(worker_->context(), &params, &memory_);
  if (status != UCS_OK) return agent::UcxStatus(status, "allocating shared memory");
  ucp_mem_attr_t attributes = {};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  status = ucp_mem_query(memory_, &attributes);
  if (status != UCS_OK) return agent::UcxStatus(status, "asking for the memory's address");
  data_ = static_cast<std::byte*>(attributes.address);
  Fill(data_, settings_.bytes, kBareSeed);
  void* packed = nullptr;
  size_t packed_bytes = 0;
  status = ucp_rkey_pack(worker_->context(), memory_, &packed, &packed_bytes);
  if (status != UCS_OK) return agent::UcxStatus(status, "packing the memory's key");
  const std::string key(static_cast<const char*>(packed), packed_bytes);
  ucp_rkey_buffer_release(packed);
  return absl::StrCat("address=", absl::BytesToHexString(worker_->address()),
                      " key=", absl::BytesToHexString(key),
                      " base=", reinterpret_cast<uint64_t>(data_));
}

absl::Status BareGets::Prepare() {
  absl::StatusOr<std::unique_ptr<MemoryBlock>> block = MemoryBlock::Make(settings_.bytes);
  if (!block.ok()) return block.status();
  block_ = *std::move(block);
  data_ = block_->data();
  return absl::OkStatus();
}

absl::Status BareGets::Connect(const std::string& line) {
  const absl::StatusOr<std::string> address = AddressArgument(line, "address");
  if (!address.ok()) return address.status();
  const absl::StatusOr<std::string> key = AddressArgument(line, "key");
  if (!key.ok()) return key.status();
  const absl::StatusOr<Fields> fields = Fields::Parse(line.substr(line.find(' ') + 1));
  if (!fields.ok()) return fields.status();
  const absl::StatusOr<std::string> base = fields->Text("base");
  if (!base.ok()) return base.status();
  remote_base_ = std::strtoull(base->c_str(), nullptr, 10);
  absl::StatusOr<ucp_ep_h> peer = ConnectBare(*worker_, agent::EnvelopeKind::kGetAddress, *address);
  if (!peer.ok()) return peer.status();
  peer_ = *peer;
  const ucs_status_t unpacked = ucp_ep_rkey_unpack(peer_, key->data(), &key_);
  if (unpacked != UCS_OK) return agent::UcxStatus(unpacked, "unpacking the key");
  if (HasOneSidedGets()) return absl::OkStatus();
  void* local = nullptr;
  const ucs_status_t mapped = ucp_rkey_ptr(key_, remote_base_, &local);
  mapped_ = static_cast<const std::byte*>(local);
  return agent::UcxStatus(mapped, "mapping the source's memory");
}

void BareGets::OnDone(void* request, ucs_status_t status, void* self) {
  ucp_request_free(request);
  static_cast<BareGets*>(self)->Finish(status);
}

void BareGets::Finish(ucs_status_t status) {
  if (status != UCS_OK && failure_.ok()) failure_ = agent::UcxStatus(status, "bare get");
  --outstanding_;
}

void BareGets::Get(uint64_t at, uint64_t bytes) {
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = &BareGets::OnDone;
  params.user_data = this;
  ++outstanding_;
  if (mapped_ != nullptr) {
    std::memcpy(data_ + at, mapped_ + at, bytes);
    return Finish(UCS_OK);
  }
  const ucs_status_ptr_t result =
      ucp_get_nbx(peer_, data_ + at, bytes, remote_base_ + at, key_, &params);
  if (!UCS_PTR_IS_PTR(result)) Finish(UCS_PTR_STATUS(result));
}

absl::StatusOr<double> BareGets::Read() {
  const auto start = std::chrono::steady_clock::now();
  const uint64_t window = std::max<uint64_t>(1, settings_.window_bytes / settings_.frame_bytes);
  uint64_t at = 0;
  BareLoop loop(*worker_);
  while (failure_.ok() && (at < settings_.bytes || outstanding_ > 0)) {
    while (at < settings_.bytes && outstanding_ < window) {
      const uint64_t bytes = std::min(settings_.frame_bytes, settings_.bytes - at);
      Get(at, bytes);
      at += bytes;
    }
    loop.Turn();
  }
  if (!failure_.ok()) return failure_;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

absl::Status PlayGets(const Fields& args) {
  const absl::StatusOr<BareRole> role = BareRole::Parse(args);
  if (!role.ok()) return role.status();
  const std::vector<agent::UcxSetting> settings = Settings();
  absl::StatusOr<std::unique_ptr<agent::UcxWorker>> worker =
      agent::UcxWorker::Create({.name = "bare-gets",
                                .features = UCP_FEATURE_RMA,
                                .settings = settings,
                                .transports = agent::OneSidedTransports(std::getenv("UCX_TLS")),
                                .address_kind = agent::EnvelopeKind::kGetAddress});
  if (!worker.ok()) return worker.status();
  BareGets bare(role->settings, *std::move(worker));
  if (role->is_source) {
    const absl::StatusOr<std::string> offer = bare.Offer();
    if (!offer.ok()) return offer.status();
    AnswerOk(*offer);
  } else {
    if (absl::Status status = bare.Prepare(); !status.ok()) return status;
    AnswerOk("");
  }
  AnswerCommands([&](const std::string& line) { return RunBareCommand(bare, line); });
  return absl::OkStatus();
}

}  // namespace

int RunBareGets(const Fields& args) { return EndRole(PlayGets(args)); }

}  // namespace tensorhub::bench
