// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_endpoints.h"

#include <chrono>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "worker_agent/ucx/ucx_log.h"
#include "worker_agent/ucx/ucx_status.h"

namespace tensorhub::agent {
namespace {

// Force-closed endpoints finish within a few progress calls; a bug in UCX must not hang the exit.
constexpr std::chrono::seconds kDrainTimeout{2};

void DestroyKeys(UcxEndpoint* endpoint) {
  for (ucp_rkey_h key : endpoint->keys) ucp_rkey_destroy(key);
  endpoint->keys.clear();
}

}  // namespace

UcxEndpoints::~UcxEndpoints() {
  for (const auto& [id, endpoint] : endpoints_) Close(id);
  const auto deadline = std::chrono::steady_clock::now() + kDrainTimeout;
  RunCloses();
  while (!endpoints_.empty() && std::chrono::steady_clock::now() < deadline) {
    worker_->Progress();
    RunCloses();
  }
  for (auto& [id, endpoint] : endpoints_) {
    DestroyKeys(endpoint.get());
    // UCX never answered, but may call back while the worker is destroyed: better leaked.
    endpoint->owner = nullptr;
    static_cast<void>(endpoint.release());
  }
}

absl::StatusOr<PeerId> UcxEndpoints::Connect(EnvelopeKind kind, std::string_view address) {
  absl::StatusOr<std::string_view> content = UnwrapEnvelope(kind, address);
  if (!content.ok()) return content.status();
  auto endpoint = std::make_unique<UcxEndpoint>();
  endpoint->owner = this;
  endpoint->id = ++last_id_;
  const std::string aligned(*content);  // UCX reads words from it
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(aligned.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {&UcxEndpoints::OnError, endpoint.get()};
  const KeptComplaints complaints;
  const ucs_status_t status = ucp_ep_create(worker_->worker(), &params, &endpoint->ep);
  if (status != UCS_OK) {
    return absl::UnavailableError(complaints.Explain(
        absl::StrFormat("no UCX transport connects to the peer: %s", ucs_status_string(status))));
  }
  const PeerId id = endpoint->id;
  endpoints_.emplace(id, std::move(endpoint));
  return id;
}

void UcxEndpoints::OnError(void* endpoint, ucp_ep_h /*ep*/, ucs_status_t status) {
  auto* failed = static_cast<UcxEndpoint*>(endpoint);
  if (failed->owner == nullptr) return;
  failed->owner->Fail(failed, absl::UnavailableError(absl::StrFormat(
                                  "connection to the peer broke: %s", ucs_status_string(status))));
}

void UcxEndpoints::Fail(UcxEndpoint* endpoint, const absl::Status& why) {
  if (!endpoint->failure.ok()) return;
  endpoint->failure = why;
  failures_.push_back(endpoint->id);
}

UcxEndpoint* UcxEndpoints::Usable(PeerId peer) {
  const auto found = endpoints_.find(peer);
  if (found == endpoints_.end()) return nullptr;
  UcxEndpoint* endpoint = found->second.get();
  return endpoint->close_wanted || !endpoint->failure.ok() ? nullptr : endpoint;
}

absl::Status UcxEndpoints::Unusable(PeerId peer) const {
  const auto found = endpoints_.find(peer);
  if (found == endpoints_.end() || found->second->close_wanted) {
    return absl::CancelledError("the connection to the peer is closed");
  }
  return found->second->failure;
}

void UcxEndpoints::Close(PeerId peer) {
  const auto found = endpoints_.find(peer);
  if (found == endpoints_.end() || found->second->close_wanted) return;
  found->second->close_wanted = true;
  closing_.push_back(peer);
  waiting_for_ucx_ = false;
}

void UcxEndpoints::StartClose(UcxEndpoint* endpoint) {
  if (endpoint->outstanding == 0) DestroyKeys(endpoint);
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  endpoint->close_request = ucp_ep_close_nbx(endpoint->ep, &params);
  if (!UCS_PTR_IS_PTR(endpoint->close_request)) endpoint->close_request = nullptr;
  endpoint->ep_closed = true;
}

bool UcxEndpoints::IsFinished(UcxEndpoint* endpoint) {
  if (endpoint->close_request != nullptr) {
    if (ucp_request_check_status(endpoint->close_request) == UCS_INPROGRESS) return false;
    ucp_request_free(endpoint->close_request);
    endpoint->close_request = nullptr;
  }
  return endpoint->outstanding == 0;
}

void UcxEndpoints::RunCloses() {
  std::vector<PeerId> left;
  for (const PeerId id : std::exchange(closing_, {})) {
    UcxEndpoint* endpoint = endpoints_.at(id).get();
    if (!endpoint->ep_closed) StartClose(endpoint);
    if (!IsFinished(endpoint)) {
      left.push_back(id);
      continue;
    }
    DestroyKeys(endpoint);
    endpoints_.erase(id);
  }
  closing_ = std::move(left);
  waiting_for_ucx_ = true;
}

std::vector<std::pair<PeerId, absl::Status>> UcxEndpoints::TakeFailures() {
  std::vector<std::pair<PeerId, absl::Status>> taken;
  for (const PeerId id : std::exchange(failures_, {})) {
    const auto found = endpoints_.find(id);
    if (found == endpoints_.end() || found->second->close_wanted) continue;
    taken.emplace_back(id, found->second->failure);
  }
  return taken;
}

std::string UcxEndpoints::Describe(PeerId peer) const {
  const auto found = endpoints_.find(peer);
  if (found == endpoints_.end() || found->second->ep_closed) return "closed";
  ucp_ep_h ep = found->second->ep;
  return TransportsIn(CaptureUcxPrint([ep](FILE* stream) { ucp_ep_print_info(ep, stream); }));
}

}  // namespace tensorhub::agent
