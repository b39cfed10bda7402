// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_worker.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "worker_agent/ucx/c_locale.h"
#include "worker_agent/ucx/ucx_log.h"
#include "worker_agent/ucx/ucx_status.h"

namespace tensorhub::agent {
namespace {

struct ConfigDeleter {
  void operator()(ucp_config_t* config) const { ucp_config_release(config); }
};
using UcpConfig = std::unique_ptr<ucp_config_t, ConfigDeleter>;

std::string GivenOrUsers(const std::string& given, const char* name) {
  const char* const users = UsersUcxSetting(name);
  return given.empty() && users != nullptr ? users : given;
}

// Empty: as it is.
absl::Status Set(ucp_config_t* config, const std::string& name, const std::string& value) {
  if (value.empty()) return absl::OkStatus();
  return UcxStatus(ucp_config_modify(config, name.c_str(), value.c_str()),
                   absl::StrFormat("setting UCX_%s to %s", name, value));
}

absl::StatusOr<UcpConfig> ReadConfig(const UcxWorker::Options& options) {
  ucp_config_t* raw = nullptr;
  const ucs_status_t status = ucp_config_read(nullptr, nullptr, &raw);
  if (status != UCS_OK) return UcxStatus(status, "reading UCX's settings (UCX_... variables)");
  UcpConfig config(raw);
  if (absl::Status applied = ApplySettings(raw, options.settings); !applied.ok()) return applied;
  const std::string transports = GivenOrUsers(options.transports, "TLS");
  if (absl::Status applied = ApplyTransportSettings(raw, transports); !applied.ok()) return applied;
  if (absl::Status set = Set(raw, "TLS", transports); !set.ok()) return set;
  const std::string devices = GivenOrUsers(options.devices, "NET_DEVICES");
  if (absl::Status set = Set(raw, "NET_DEVICES", devices); !set.ok()) return set;
  return config;
}

// What the user has set of what decides which transports there are.
absl::Status WithVariables(const absl::Status& status) {
  if (!absl::IsFailedPrecondition(status)) return status;
  std::vector<std::string> set;
  for (const char* name : {"TLS", "NET_DEVICES"}) {
    const char* const users = UsersUcxSetting(name);
    if (users != nullptr) set.push_back(absl::StrFormat("%s=%s", UsersUcxVariable(name), users));
  }
  if (set.empty()) return status;
  return absl::FailedPreconditionError(
      absl::StrFormat("%s; %s leaves nothing that this machine has: add to it, or unset it",
                      status.message(), absl::StrJoin(set, ", ")));
}

// "tcp/eth0.0" is lane notation for "tcp/eth0".
std::string WithoutPathIndex(std::string_view word) {
  const size_t dot = word.rfind('.');
  if (dot == std::string_view::npos || dot + 2 != word.size()) return std::string(word);
  return std::string(word.substr(0, dot));
}

}  // namespace

absl::StatusOr<std::unique_ptr<UcxWorker>> UcxWorker::Create(const Options& options) {
  PrepareProcessForUcx();
  std::unique_ptr<UcxWorker> worker(new UcxWorker);
  const CLocale locale;
  const KeptComplaints complaints;
  absl::Status status = worker->OpenContext(options);
  if (status.ok()) status = worker->OpenWorker(options.address_kind);
  if (status.ok() && !complaints.unused().empty()) {
    status = CheckTransportSettings(complaints.unused(), worker->Transports());
  }
  // UCX goes on with a default, and says so only here.
  if (complaints.first().starts_with("Invalid value for")) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s; mend or unset the variable TENSORHUB_UCX_... (or UCX_...) of that name",
        complaints.first()));
  }
  if (status.ok()) return worker;
  return absl::Status(status.code(), complaints.Explain(std::string(status.message())));
}

// Each that is left costs its memory and a dozen descriptors (R9): only so many are.
bool UcxWorker::MayStay() {
  constexpr int kAbandonedMax = 32;
  static std::atomic<int> abandoned{0};
  return abandoned_ && ++abandoned <= kAbandonedMax;
}

void UcxWorker::End() {
  if (worker_ == nullptr) return;
  ucp_worker_destroy(worker());
  worker_ = nullptr;
}

UcxWorker::~UcxWorker() {
  if (MayStay()) return;
  End();
  if (context_ != nullptr) ucp_cleanup(context_);
}

absl::Status UcxWorker::OpenContext(const Options& options) {
  absl::StatusOr<UcpConfig> config = ReadConfig(options);
  if (!config.ok()) return config.status();
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = options.features | UCP_FEATURE_WAKEUP;
  params.name = options.name;
  return WithVariables(
      UcxStatus(ucp_init(&params, config->get(), &context_), "opening a UCX context"));
}

absl::Status UcxWorker::OpenWorker(EnvelopeKind address_kind) {
  ucp_worker_params_t params = {};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  ucs_status_t status = ucp_worker_create(context_, &params, &worker_);
  if (status != UCS_OK) return UcxStatus(status, "creating a UCX worker");
  status = ucp_worker_get_efd(worker_, &event_fd_);
  if (status != UCS_OK) return UcxStatus(status, "getting the UCX worker's event fd");
  ucp_address_t* raw = nullptr;
  size_t bytes = 0;
  status = ucp_worker_get_address(worker_, &raw, &bytes);
  if (status != UCS_OK) return UcxStatus(status, "getting the UCX worker's address");
  address_ = WrapEnvelope(address_kind, {reinterpret_cast<const char*>(raw), bytes});
  ucp_worker_release_address(worker_, raw);
  return absl::OkStatus();
}

absl::Status UcxWorker::TakeMessages(unsigned id, ucp_am_recv_callback_t handler, void* owner) {
  ucp_am_handler_param_t params = {};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = id;
  params.flags = UCP_AM_FLAG_WHOLE_MSG;
  params.cb = handler;
  params.arg = owner;
  return UcxStatus(ucp_worker_set_am_recv_handler(worker_, &params),
                   "installing the handler of active messages");
}

std::string UcxWorker::Transports() const {
  return TransportsIn(
      CaptureUcxPrint([this](FILE* stream) { ucp_context_print_info(context_, stream); }));
}

std::string UcxWorker::Summary() const {
  return absl::StrFormat("UCX %s over %s", UcxVersion(), Transports());
}

std::string CaptureUcxPrint(const std::function<void(FILE*)>& print) {
  char* text = nullptr;
  size_t bytes = 0;
  FILE* stream = open_memstream(&text, &bytes);
  if (stream == nullptr) return "";
  print(stream);
  std::fclose(stream);
  std::string result(text, bytes);
  std::free(text);
  return result;
}

std::string TransportsIn(const std::string& text) {
  std::vector<std::string> found;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.find("resource") == line.npos && line.find("lane[") == line.npos) continue;
    for (absl::string_view word : absl::StrSplit(line, ' ')) {
      if (const size_t colon = word.find(':'); colon != word.npos) word.remove_prefix(colon + 1);
      if (word.find('/') == word.npos || word.find("md[") == 0 || word.find("->") == 0) continue;
      std::string name = WithoutPathIndex({word.data(), word.size()});
      if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
    }
  }
  return found.empty() ? "unknown" : absl::StrJoin(found, ", ");
}

bool IsSharedMemory(const std::string& lanes) {
  return absl::StartsWith(lanes, "sysv") || absl::StartsWith(lanes, "posix");
}

}  // namespace tensorhub::agent
