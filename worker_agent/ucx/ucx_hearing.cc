// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_hearing.h"

#include <cstring>
#include <utility>

#include "absl/status/statusor.h"

namespace tensorhub::agent {
namespace {

constexpr unsigned kHearingId = 2;
// What is sent to oneself arrives within microseconds and a few rounds; among many others, which
// take the free slots, within milliseconds. Rounds are counted too, since a process that was
// stopped hears nothing either.
constexpr std::chrono::milliseconds kDeafAfter{500};
constexpr uint64_t kDeafAfterRounds = 1000;

}  // namespace

absl::Status UcxHearing::Open() {
  return worker_->TakeMessages(kHearingId, &UcxHearing::OnHeard, this);
}

void UcxHearing::Test() {
  if (testing_) return;
  if (saying_ == nullptr && !Say()) return;  // the last one's that still waits will do
  testing_ = true;
  rounds_ = 0;
  since_ = std::chrono::steady_clock::now();
}

UcxEndpoint* UcxHearing::Self() {
  if (self_ == 0) {
    self_ = endpoints_->Connect(EnvelopeKind::kMessageAddress, worker_->address()).value_or(0);
  }
  return endpoints_->Usable(self_);
}

bool UcxHearing::Say() {
  UcxEndpoint* self = Self();
  if (self == nullptr) return false;
  ucp_request_param_t params = {};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  params.cb.send = &UcxHearing::OnSent;
  params.user_data = this;
  saying_ = self;
  ++self->outstanding;
  ++said_;
  const ucs_status_ptr_t result =
      ucp_am_send_nbx(self->ep, kHearingId, &said_, sizeof(said_), nullptr, 0, &params);
  if (!UCS_PTR_IS_PTR(result)) EndSend(UCS_PTR_STATUS(result));
  return !UCS_PTR_IS_ERR(result);
}

// What could not be sent proves nothing.
void UcxHearing::EndSend(ucs_status_t status) {
  --std::exchange(saying_, nullptr)->outstanding;
  if (status != UCS_OK) testing_ = false;
}

void UcxHearing::OnSent(void* request, ucs_status_t status, void* hearing) {
  ucp_request_free(request);
  static_cast<UcxHearing*>(hearing)->EndSend(status);
}

ucs_status_t UcxHearing::OnHeard(void* hearing, const void* header, size_t header_bytes,
                                 void* /*data*/, size_t /*bytes*/,
                                 const ucp_am_recv_param_t* /*param*/) {
  auto* self = static_cast<UcxHearing*>(hearing);
  uint64_t heard = 0;
  if (header_bytes == sizeof(heard)) std::memcpy(&heard, header, sizeof(heard));
  if (heard == self->said_) self->testing_ = false;
  return UCS_OK;
}

bool UcxHearing::IsDeaf() {
  if (++rounds_ < kDeafAfterRounds) return false;
  if (std::chrono::steady_clock::now() - since_ < kDeafAfter) return false;
  testing_ = false;
  // Any other transport has a queue for each peer, and may only be slow.
  return IsSharedMemory(endpoints_->Describe(self_));
}

void UcxHearing::OnFailure() {
  endpoints_->Close(self_);
  self_ = 0;
  testing_ = false;
}

}  // namespace tensorhub::agent
