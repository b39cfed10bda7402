// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/admin_client.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/cli/logging.h"
#include "common/grpc_flow_control.h"
#include "common/grpc_keepalive.h"
#include "common/grpc_names.h"
#include "common/grpc_status.h"
#include "spdlog/spdlog.h"

namespace tensorhub::ctl {
namespace {

using std::chrono::milliseconds;

// A server that is connected and does not answer: stopped, or far too busy.
constexpr std::chrono::seconds kAnswerTimeout{30};
constexpr milliseconds kRetryInterval{100};
// When the next of several servers is dialled as well, and the same one once more: it may be far
// away, or a host that has just come back.
constexpr milliseconds kDialOn{500};
constexpr std::chrono::seconds kDialAgain{2};
constexpr size_t kDialsMax = 16;
constexpr milliseconds kLook{20};
// What one of several has to answer, before the next one is asked: it may lead no more and not know
// it.
constexpr milliseconds kAnswerPatience{3000};
constexpr int kSilentMax = 3;

// A caller that gives a connection a minute expects a link on which things take long.
int AnswerMs(milliseconds connect_timeout) {
  return static_cast<int>(
      std::clamp<int64_t>(connect_timeout.count(), kAnswerMs, kLongestAnswerMs));
}

grpc::ChannelArguments Arguments(milliseconds connect_timeout) {
  grpc::ChannelArguments arguments;
  const auto set = [&](const char* name, int value) { arguments.SetInt(name, value); };
  SetConnecting(set, AnswerMs(connect_timeout));
  // A restarting server is noticed at once, not after gRPC's growing pauses.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // dials have a connection each
  SetKeepalive(set, AnswerMs(connect_timeout));             // whoever watches says nothing himself
  SetFlowControl(set);
  arguments.SetMaxReceiveMessageSize(-1);  // attachments
  // The hub is named; a proxy of the environment is for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace

AdminClient::AdminClient(std::string server, milliseconds connect_timeout,
                         const tls::ClientSecurity& security)
    : server_(std::move(server)),
      connect_timeout_(connect_timeout),
      credentials_(
          security.OrEnvironment(),
          [](const absl::Status& status) { spdlog::error("{}", std::string(status.message())); }),
      choice_(server_) {
  ResolveNamesAsTheSystem();
}

std::shared_ptr<grpc::Channel> AdminClient::channel() {
  const bool changed = credentials_.Refresh();
  MutexLock lock(mutex_);
  if (changed) dials_.clear();
  if (changed || channel_ == nullptr) channel_ = DialLocked();
  return channel_;
}

// One that is young goes on alone, and so does one that is refused, which tries again by itself.
std::shared_ptr<grpc::Channel> AdminClient::DialLocked() {
  const std::string& server = choice_.current();
  const Clock::time_point now = Clock::now();
  for (const Dial& dial : dials_) {
    if (dial.server != server) continue;
    const bool hangs = dial.channel->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_CONNECTING;
    if (!hangs || now - dial.begun < kDialAgain) return dial.channel;
  }
  if (dials_.size() >= kDialsMax) dials_.erase(dials_.begin() + 1);  // the first is the furthest
  dials_.push_back({server, credentials_.MakeChannel(server, Arguments(connect_timeout_)), now});
  dials_.back().channel->GetState(/*try_to_connect=*/true);
  return dials_.back().channel;
}

void AdminClient::DialOn() {
  NotThere(absl::OkStatus());
  MutexLock lock(mutex_);
  channel_ = DialLocked();
}

bool AdminClient::AnyConnected() {
  MutexLock lock(mutex_);
  for (const Dial& dial : dials_) {
    if (dial.channel->GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY) continue;
    for (size_t turn = 0; turn < kDialsMax && choice_.current() != dial.server; ++turn) {
      choice_.NotThere(choice_.current(), "");
    }
    channel_ = dial.channel;
    dials_.clear();
    return true;
  }
  return false;
}

bool AdminClient::ConnectedBy(Clock::time_point until) {
  do {
    if (channel()->WaitForConnected(std::min(until, Clock::now() + kLook))) {
      MutexLock lock(mutex_);
      dials_.clear();
      return true;
    }
    if (AnyConnected()) return true;
  } while (Clock::now() < until);
  return false;
}

void AdminClient::NotThere(const absl::Status& status) {
  MutexLock lock(mutex_);
  const std::string before = choice_.current();
  choice_.NotThere(before, LeaderOf(status));
  if (choice_.current() != before) channel_ = nullptr;
}

bool AdminClient::several() {
  MutexLock lock(mutex_);
  return choice_.several();
}

absl::Status AdminClient::WaitUntilConnected(Clock::time_point deadline) {
  const Clock::time_point begin = Clock::now();
  while (true) {
    const milliseconds patience = several() ? kDialOn : milliseconds(kDialAgain);
    if (ConnectedBy(std::min(deadline, Clock::now() + patience))) {
      connecting_took_ = std::max(connecting_took_, Clock::now() - begin);
      return absl::OkStatus();
    }
    if (Clock::now() >= deadline) break;
    DialOn();
  }
  const std::string why = credentials_.WhyNot(ServersOf(server_).front());
  if (!why.empty()) {
    return absl::UnavailableError(
        absl::StrCat("no connection with the server at ", server_, ": ", why));
  }
  const auto tried = std::min<Clock::duration>(connect_timeout_, give_up_by_ - made_);
  return absl::UnavailableError(absl::StrFormat(
      "no server answers at %s (tried for %.1f s); start tensorhub-server there, or name "
      "another address",
      server_, std::chrono::duration<double>(tried).count()));
}

absl::Status AdminClient::Explain(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (RemedyOf(FromGrpc(status)) == Remedy::kAskLeader) NotThere(FromGrpc(status));
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::UnimplementedError(absl::StrFormat(
        "the server at %s is no tensorhub-server, or of another version; correct the address",
        server_));
  }
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  return absl::Status(code, cli::OneLine(status.error_message()));
}

absl::Status AdminClient::NoAnswer() const {
  const bool hurry = Clock::now() >= give_up_by_;
  return absl::DeadlineExceededError(absl::StrFormat(
      "the server at %s is connected and has not answered %s: look at its log, and at its disk; "
      "what was ordered may still be carried out",
      server_, hurry ? "in time" : absl::StrFormat("for %d s", kAnswerTimeout.count())));
}

absl::Status AdminClient::Cut() const {
  return absl::UnavailableError(absl::StrFormat(
      "the server at %s ended the connection before it answered; is it stopping?", server_));
}

template <typename Request, typename Response>
absl::StatusOr<Response> AdminClient::Call(Method<Request, Response> method, const Request& request,
                                           bool* repeated) {
  Clock::time_point give_up = std::min(Clock::now() + connect_timeout_, give_up_by_);
  int silent = several() ? 0 : kSilentMax;
  for (;;) {
    if (absl::Status status = WaitUntilConnected(give_up); !status.ok()) return status;
    grpc::ClientContext context;
    const Clock::duration asked_next = std::max<Clock::duration>(kAnswerPatience, connecting_took_);
    const Clock::duration patience = silent < kSilentMax ? asked_next : kAnswerTimeout;
    context.set_deadline(std::min(Clock::now() + patience, give_up_by_));
    Response response;
    const grpc::Status status =
        ((*v1::Admin::NewStub(channel())).*method)(&context, request, &response);
    if (status.ok()) return response;
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      if (silent++ >= kSilentMax || Clock::now() >= give_up_by_) return NoAnswer();
      give_up = std::max(give_up, std::min(Clock::now() + connect_timeout_, give_up_by_));
      if (repeated != nullptr) *repeated = true;
      NotThere(absl::OkStatus());
      continue;
    }
    // The server may come back, and orders may be given twice.
    const bool cut = WasCut(status);
    const bool again = cut || status.error_code() == grpc::StatusCode::UNAVAILABLE;
    if (!again || Clock::now() >= give_up) return cut ? Cut() : Explain(status);
    if (repeated != nullptr) *repeated = true;
    NotThere(FromGrpc(status));
    if (!LeaderOf(FromGrpc(status)).empty()) continue;
    std::this_thread::sleep_for(kRetryInterval);
  }
}

absl::StatusOr<v1::GetStatusResponse> AdminClient::GetStatus() {
  return Call(&v1::Admin::Stub::GetStatus, v1::GetStatusRequest());
}

absl::StatusOr<v1::ListModelsResponse> AdminClient::ListModels() {
  return Call(&v1::Admin::Stub::ListModels, v1::ListModelsRequest());
}

absl::StatusOr<v1::ListVersionsResponse> AdminClient::ListVersions(const std::string& model) {
  v1::ListVersionsRequest request;
  request.set_model(model);
  return Call(&v1::Admin::Stub::ListVersions, request);
}

absl::StatusOr<v1::ListReplicasResponse> AdminClient::ListReplicas(
    const v1::ListReplicasRequest& request) {
  return Call(&v1::Admin::Stub::ListReplicas, request);
}

absl::StatusOr<v1::ListWorkersResponse> AdminClient::ListWorkers() {
  return Call(&v1::Admin::Stub::ListWorkers, v1::ListWorkersRequest());
}

absl::StatusOr<v1::ListTransfersResponse> AdminClient::ListTransfers() {
  return Call(&v1::Admin::Stub::ListTransfers, v1::ListTransfersRequest());
}

absl::StatusOr<v1::ExplainFetchesResponse> AdminClient::ExplainFetches(
    const v1::ExplainFetchesRequest& request) {
  return Call(&v1::Admin::Stub::ExplainFetches, request);
}

absl::StatusOr<std::string> AdminClient::GetLayout(const std::string& fingerprint) {
  v1::GetLayoutRequest request;
  request.set_fingerprint(fingerprint);
  auto response = Call(&v1::Admin::Stub::GetLayout, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_encoded());
}

absl::StatusOr<std::string> AdminClient::GetAttachment(const std::string& fingerprint) {
  v1::GetAttachmentRequest request;
  request.set_fingerprint(fingerprint);
  auto response = Call(&v1::Admin::Stub::GetAttachment, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_content());
}

absl::Status AdminClient::Retain(const v1::RetainRequest& request) {
  return Call(&v1::Admin::Stub::Retain, request).status();
}

absl::Status AdminClient::Pin(const v1::PinRequest& request) {
  return Call(&v1::Admin::Stub::Pin, request).status();
}

absl::Status AdminClient::Unpin(const v1::UnpinRequest& request) {
  bool repeated = false;
  const absl::Status status = Call(&v1::Admin::Stub::Unpin, request, &repeated).status();
  // What was cut may have been carried out, and then the pin is gone.
  return repeated && absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::Status AdminClient::Supersede(const v1::SupersedeRequest& request) {
  return Call(&v1::Admin::Stub::Supersede, request).status();
}

absl::Status AdminClient::Adopt(const v1::AdoptRequest& request) {
  return Call(&v1::Admin::Stub::Adopt, request).status();
}

absl::StatusOr<v1::DrainResponse> AdminClient::Drain(const v1::DrainRequest& request) {
  return Call(&v1::Admin::Stub::Drain, request);
}

std::unique_ptr<grpc::ClientReader<v1::WatchEvent>> AdminClient::Watch(grpc::ClientContext& context,
                                                                       const std::string& model) {
  v1::WatchRequest request;
  request.set_model(model);
  return v1::Admin::NewStub(channel())->Watch(&context, request);
}

}  // namespace tensorhub::ctl
