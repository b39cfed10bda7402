// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/bare_role.h"

#include <poll.h>
#include <sched.h>

#include "absl/strings/escaping.h"
#include "worker_agent/ucx/ucx_status.h"

namespace tensorhub::bench {
namespace {

// worker_agent/loop/progress_loop.cc has the same two.
constexpr std::chrono::microseconds kSpin{300};
constexpr int kSleepMaxMs = 100;

}  // namespace

absl::StatusOr<BareRole> BareRole::Parse(const Fields& args) {
  BareRole role;
  const struct {
    const char* key;
    uint64_t* target;
  } numbers[] = {{"bytes", &role.settings.bytes},
                 {"frame", &role.settings.frame_bytes},
                 {"window", &role.settings.window_bytes},
                 {"ahead", &role.settings.send_ahead_bytes}};
  for (const auto& number : numbers) {
    const absl::StatusOr<double> value = args.Number(number.key);
    if (!value.ok()) return value.status();
    *number.target = static_cast<uint64_t>(*value);
  }
  const absl::StatusOr<double> source = args.Number("source");
  if (!source.ok()) return source.status();
  role.is_source = *source != 0;
  return role;
}

absl::StatusOr<ucp_ep_h> ConnectBare(const agent::UcxWorker& worker, agent::EnvelopeKind kind,
                                     const std::string& address) {
  const absl::StatusOr<std::string_view> content = agent::UnwrapEnvelope(kind, address);
  if (!content.ok()) return content.status();
  const std::string aligned(*content);
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(aligned.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {[](void*, ucp_ep_h, ucs_status_t) {}, nullptr};  // sends tell as well
  ucp_ep_h peer = nullptr;
  const ucs_status_t status = ucp_ep_create(worker.worker(), &params, &peer);
  if (status != UCS_OK) return agent::UcxStatus(status, "connecting to the bare peer");
  return peer;
}

absl::StatusOr<Fields> CommandFields(const std::string& line) {
  return Fields::Parse(line.substr(line.find(' ') + 1));
}

absl::StatusOr<std::string> AddressArgument(const std::string& line, const std::string& key) {
  const absl::StatusOr<Fields> fields = CommandFields(line);
  if (!fields.ok()) return fields.status();
  const absl::StatusOr<std::string> hex = fields->Text(key);
  if (!hex.ok()) return hex.status();
  return absl::HexStringToBytes(*hex);
}

void DisconnectBare(const agent::UcxWorker& worker, ucp_ep_h peer) {
  if (peer == nullptr) return;
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t request = ucp_ep_close_nbx(peer, &params);
  if (!UCS_PTR_IS_PTR(request)) return;
  while (ucp_request_check_status(request) == UCS_INPROGRESS) {
    ucp_worker_progress(worker.worker());
  }
  ucp_request_free(request);
}

void BareLoop::Turn() {
  const auto now = std::chrono::steady_clock::now();
  if (ucp_worker_progress(worker_.worker()) != 0) {
    active_at_ = now;
    return;
  }
  if (now - active_at_ < kSpin) {
    sched_yield();
    return;
  }
  if (ucp_worker_arm(worker_.worker()) != UCS_OK) return;
  pollfd readable{.fd = worker_.event_fd(), .events = POLLIN, .revents = 0};
  poll(&readable, 1, kSleepMaxMs);
}

int EndRole(const absl::Status& status) {
  if (status.ok()) return 0;
  AnswerError(status);
  return 1;
}

}  // namespace tensorhub::bench
