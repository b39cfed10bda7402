// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/hub/channel.h"

#include <grpc/support/log.h>
#include <grpcpp/support/channel_arguments.h>

#include <cstdlib>
#include <utility>

#include "common/grpc_flow_control.h"
#include "common/grpc_keepalive.h"
#include "common/grpc_names.h"
#include "common/limits.h"
#include "common/remedy.h"
#include "worker_agent/runtime/log.h"

namespace tensorhub::agent {
namespace {

// gRPC writes its own lines to standard error; what matters of them reaches the caller as Status.
void QuietGrpc() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& server, Connection connection,
                                           const tls::ClientCredentials& credentials,
                                           int answer_ms) {
  QuietGrpc();
  ResolveNamesAsTheSystem();
  grpc::ChannelArguments arguments;
  const auto set = [&](const char* name, int value) { arguments.SetInt(name, value); };
  SetKeepalive(set, answer_ms);
  SetConnecting(set, answer_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // gRPC's own back-off goes up to two minutes; a restarted hub waits one lease for its workers.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // gRPC looks a name up every 30 s at most, and the hub may be on another machine by then.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);
  // The hub is inside the cluster: a proxy for the web is not on the way to it.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (connection == Connection::kOwn) arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  SetFlowControl(set);
  arguments.SetMaxReceiveMessageSize(kHubMessageBytesMax);
  arguments.SetMaxSendMessageSize(kHubMessageBytesMax);
  return credentials.MakeChannel(server, arguments);
}

// A queue grows, and a segment is sent again.
constexpr TimeMs kRoundTripsToAnswer = 3;

// Few values, since workers of one process that say the same have one connection together.
int LadderFrom(TimeMs answer_ms) {
  if (answer_ms <= kAnswerMs) return kAnswerMs;
  return answer_ms <= 4 * kAnswerMs ? 4 * kAnswerMs : kLongestAnswerMs;
}

// gRPC 1.51 ends its callback threads together with the last channel that used them, and crashes
// if that happens on one of them: in the last reference of a call that was given up. So the
// first channel of a process stays, and the threads with it.
void KeepTheFirst(const std::shared_ptr<grpc::Channel>& channel) {
  // Used: a compiler that drops the pointer, which nobody reads, leaves a leak to LeakSanitizer.
  [[gnu::used]] static const auto* const kept = new std::shared_ptr<grpc::Channel>(channel);
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeHubChannel(const std::string& server, Connection connection) {
  auto channel =
      MakeChannel(ServersOf(server).front(), connection,
                  tls::ClientCredentials(tls::ClientSecurity().OrEnvironment()), kAnswerMs);
  KeepTheFirst(channel);
  return channel;
}

HubChannel::HubChannel(const std::string& server, const tls::ClientSecurity& security, Calls calls)
    : calls_(calls),
      credentials_(security.OrEnvironment(),
                   [](const absl::Status& status) {
                     Log().error("{}; what was there before stays in force",
                                 std::string(status.message()));
                   }),
      choice_(server) {
  MutexLock lock(mutex_);
  UseAnother(Connection::kShared);
}

void HubChannel::UseAnother(Connection connection) {
  channel_ = Make(connection);
  answer_ms_in_use_ = answer_ms_;
  patient_ = nullptr;
}

std::shared_ptr<grpc::Channel> HubChannel::Make(Connection connection) const {
  auto channel = MakeChannel(choice_.current(), connection, credentials_, answer_ms_);
  if (calls_ == Calls::kAny) KeepTheFirst(channel);
  return channel;
}

std::shared_ptr<grpc::Channel> HubChannel::Get() { return GetWay().channel; }

HubChannel::Way HubChannel::GetWay() {
  const bool changed = credentials_.Refresh();
  MutexLock lock(mutex_);
  if (changed) UseAnother(Connection::kShared);
  return {choice_.current(), channel_};
}

void HubChannel::Note(const std::string& server, const absl::Status& ended) {
  const bool elsewhere = RemedyOf(ended) == Remedy::kAskLeader;
  if (!absl::IsUnavailable(ended) && !elsewhere) return;
  MutexLock lock(mutex_);
  const std::string before = choice_.current();
  choice_.NotThere(server, LeaderOf(ended));
  if (choice_.current() != before) UseAnother(Connection::kShared);
}

void HubChannel::NoteThere(const std::string& server, TimeMs round_trip_ms) {
  MutexLock lock(mutex_);
  choice_.There(server);
  answer_ms_ = LadderFrom(kRoundTripsToAnswer * round_trip_ms);
  if (answer_ms_ <= answer_ms_in_use_) return;
  patient_ = Make(Connection::kShared);
  patient_->GetState(/*try_to_connect=*/true);
}

bool HubChannel::has_patient() const {
  MutexLock lock(mutex_);
  return patient_ != nullptr;
}

bool HubChannel::TakePatient() {
  MutexLock lock(mutex_);
  if (patient_ == nullptr) return false;
  if (patient_->GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY) return false;
  channel_ = std::exchange(patient_, nullptr);
  answer_ms_in_use_ = answer_ms_;
  return true;
}

void HubChannel::NoteNoAnswer(TimeMs waited_ms) {
  MutexLock lock(mutex_);
  if (waited_ms < answer_ms_ / 2) return;
  const int before = std::exchange(answer_ms_, LadderFrom(answer_ms_ + 1));
  if (answer_ms_ != before) UseAnother(Connection::kShared);
}

bool HubChannel::several() const {
  MutexLock lock(mutex_);
  return choice_.several();
}

std::optional<std::string> HubChannel::Other(size_t turn) const {
  MutexLock lock(mutex_);
  return choice_.Other(turn);
}

std::shared_ptr<grpc::Channel> HubChannel::Beside(const std::string& server) const {
  return MakeChannel(server, Connection::kShared, credentials_, kAnswerMs);
}

std::string HubChannel::WhyNot() const {
  std::string server;
  {
    MutexLock lock(mutex_);
    server = choice_.current();
  }
  return credentials_.WhyNot(server);
}

std::shared_ptr<grpc::Channel> HubChannel::Renew() {
  credentials_.Refresh();
  MutexLock lock(mutex_);
  UseAnother(Connection::kOwn);
  return channel_;
}

}  // namespace tensorhub::agent
