// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/client.h"

#include <grpcpp/support/channel_arguments.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/grpc_names.h"
#include "common/grpc_status.h"

namespace tensorhub::store {
namespace {

using Millis = std::chrono::milliseconds;

// Members that are down are asked again so often.
constexpr Millis kAgainAfter{200};
// Of so many tries, one looks why they fail.
constexpr int kLooksEvery = 10;

grpc::ChannelArguments Arguments() {
  ResolveNamesAsTheSystem();
  grpc::ChannelArguments arguments;
  // A member that is back is to be had back at once.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  return arguments;
}

// No answer of etcd's: another member may have one. UNAVAILABLE is also what a member says that
// has no leader, and UNKNOWN what it says where it gives up in the same moment as this client
// ("context deadline exceeded"): etcd gives a code to each answer that it means.
bool OfNoAnswer(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
         status.error_code() == grpc::StatusCode::INTERNAL ||
         status.error_code() == grpc::StatusCode::UNKNOWN || WasCut(status);
}

std::string Words(const grpc::Status& status) {
  const bool late = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  return late ? "no answer in time" : status.error_message();
}

}  // namespace

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

struct EtcdClient::Member {
  explicit Member(const std::shared_ptr<grpc::Channel>& channel)
      : kv(etcd::KV::NewStub(channel)),
        lease(etcd::Lease::NewStub(channel)),
        watch(etcd::Watch::NewStub(channel)) {}
  const std::unique_ptr<etcd::KV::Stub> kv;
  const std::unique_ptr<etcd::Lease::Stub> lease;
  const std::unique_ptr<etcd::Watch::Stub> watch;
};

EtcdClient::EtcdClient(Options options)
    : options_(std::move(options)),
      credentials_({.tls = options_.tls, .token_file = {}},
                   [](const absl::Status& status) {
                     spdlog::error("etcd: {}; what was there before stays in force",
                                   std::string(status.message()));
                   }),
      members_(options_.endpoints.size()) {}

EtcdClient::~EtcdClient() { Stop(); }

// --- one call --------------------------------------------------------------------------------

std::shared_ptr<EtcdClient::Member> EtcdClient::MemberAt(size_t index) {
  const bool changed = credentials_.Refresh();
  MutexLock lock(mutex_);
  if (changed) members_.assign(members_.size(), nullptr);
  std::shared_ptr<Member>& member = members_[index];
  if (member == nullptr) {
    member =
        std::make_shared<Member>(credentials_.MakeChannel(options_.endpoints[index], Arguments()));
  }
  return member;
}

bool EtcdClient::Enter(grpc::ClientContext* context) {
  MutexLock lock(mutex_);
  if (!stopped_) running_.insert(context);
  return !stopped_;
}

void EtcdClient::Leave(grpc::ClientContext* context) {
  MutexLock lock(mutex_);
  running_.erase(context);
  waiting_.erase(context);
}

grpc::Status EtcdClient::AskOne(size_t index, const Call& call, Millis patience) {
  const std::shared_ptr<Member> member = MemberAt(index);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  if (!Enter(&context)) return grpc::Status(grpc::StatusCode::CANCELLED, "stopped");
  const grpc::Status status = call(*member, context);
  Leave(&context);
  return status;
}

absl::Status EtcdClient::Ask(const Call& call, Millis patience) {
  size_t index = 0;
  {
    MutexLock lock(mutex_);
    index = first_;
  }
  std::string why;
  const size_t members = options_.endpoints.size();
  for (size_t tried = 0; tried < members; ++tried, index = (index + 1) % members) {
    const grpc::Status status = AskOne(index, call, patience);
    MutexLock lock(mutex_);
    if (stopped_) return absl::CancelledError("this server no longer asks etcd");
    if (!OfNoAnswer(status)) {
      first_ = index;
      return status.ok() ? absl::OkStatus()
                         : absl::Status(FromGrpc(status).code(),
                                        absl::StrCat("etcd: ", status.error_message()));
    }
    absl::StrAppend(&why, why.empty() ? "" : ", ", options_.endpoints[index], ": ", Words(status));
    first_ = (index + 1) % members;
  }
  return absl::UnavailableError(absl::StrCat("no member of etcd answers (", why, ")"));
}

absl::StatusOr<etcd::TxnResponse> EtcdClient::Txn(const etcd::TxnRequest& request) {
  etcd::TxnResponse response;
  const absl::Status status = Ask(
      [&](Member& member, grpc::ClientContext& context) {
        return member.kv->Txn(&context, request, &response);
      },
      options_.patience);
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<etcd::RangeResponse> EtcdClient::Range(const etcd::RangeRequest& request) {
  etcd::RangeResponse response;
  const absl::Status status = Ask(
      [&](Member& member, grpc::ClientContext& context) {
        return member.kv->Range(&context, request, &response);
      },
      options_.patience);
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<etcd::LeaseGrantResponse> EtcdClient::Grant(const etcd::LeaseGrantRequest& request) {
  etcd::LeaseGrantResponse response;
  const absl::Status status = Ask(
      [&](Member& member, grpc::ClientContext& context) {
        return member.lease->LeaseGrant(&context, request, &response);
      },
      options_.patience);
  if (!status.ok()) return status;
  return response;
}

absl::Status EtcdClient::Revoke(int64_t lease) {
  etcd::LeaseRevokeRequest request;
  request.set_id(lease);
  etcd::LeaseRevokeResponse response;
  return Ask(
      [&](Member& member, grpc::ClientContext& context) {
        return member.lease->LeaseRevoke(&context, request, &response);
      },
      options_.patience);
}

// A stream of one message each way: there is no unary one.
absl::StatusOr<int64_t> EtcdClient::KeepAlive(int64_t lease) {
  etcd::LeaseKeepAliveRequest request;
  request.set_id(lease);
  etcd::LeaseKeepAliveResponse response;
  const absl::Status status = Ask(
      [&](Member& member, grpc::ClientContext& context) {
        const auto stream = member.lease->LeaseKeepAlive(&context);
        const bool answered = stream->Write(request) && stream->Read(&response);
        if (answered) context.TryCancel();
        const grpc::Status end = stream->Finish();
        return answered ? grpc::Status::OK : end;
      },
      options_.patience);
  if (!status.ok()) return status;
  return response.ttl();
}

absl::StatusOr<bool> EtcdClient::AwaitChange(const std::string& key, int64_t from_revision,
                                             Millis patience) {
  etcd::WatchRequest request;
  request.mutable_create_request()->set_key(key);
  request.mutable_create_request()->set_start_revision(from_revision);
  bool changed = false;
  const absl::Status status = Ask(
      [&](Member& member, grpc::ClientContext& context) {
        {
          MutexLock lock(mutex_);
          waiting_.insert(&context);
        }
        const auto stream = member.watch->Watch(&context);
        bool created = false;
        etcd::WatchResponse response;
        if (!stream->Write(request)) return stream->Finish();
        while (!changed && stream->Read(&response)) {
          created = true;
          // Cancelled: that revision is compacted; the caller reads anew.
          changed = response.canceled() || response.events_size() > 0;
        }
        context.TryCancel();
        const grpc::Status end = stream->Finish();
        if (created && end.error_code() == grpc::StatusCode::UNAVAILABLE) changed = true;
        return created ? grpc::Status::OK : end;
      },
      patience);
  if (!status.ok()) return status;
  return changed;
}

// --- stopping --------------------------------------------------------------------------------

void EtcdClient::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  for (grpc::ClientContext* context : running_) context->TryCancel();
  wake_.NotifyAll();
}

void EtcdClient::WakeWaiting() {
  MutexLock lock(mutex_);
  for (grpc::ClientContext* context : waiting_) context->TryCancel();
}

// gRPC says "Socket closed" of a certificate that has ended, and of much else.
std::string EtcdClient::WhyNot(const absl::Status& status) const {
  std::string text;
  if (!absl::IsUnavailable(status) || !options_.tls.any()) return text;
  for (const std::string& member : options_.endpoints) {
    const std::string why = credentials_.WhyNot(member);
    if (!why.empty()) absl::StrAppend(&text, "; ", why);
  }
  return text;
}

// Once, and when a reason is found that was not there at first. Looking for it takes a handshake
// with each member, so what fails once is tried again first.
void EtcdClient::Tell(const std::string& what, const absl::Status& status,
                      std::optional<std::string>& told) const {
  const std::string why = told ? WhyNot(status) : "";
  if (told && (why.empty() || *told == why)) return;
  told = why;
  spdlog::warn("{}: {}{}; asking again until it is there", what, std::string(status.message()),
               why);
}

absl::Status EtcdClient::Repeat(const std::string& what, const std::function<absl::Status()>& ask) {
  std::optional<std::string> told;
  for (int tries = 0;; ++tries) {
    absl::Status status = ask();
    if (!MayPass(status)) return status;
    if (tries % kLooksEvery == 0) Tell(what, status, told);
    if (!Pause(kAgainAfter)) return absl::CancelledError("this server ends");
  }
}

bool EtcdClient::Pause(Millis time) {
  const auto until = std::chrono::steady_clock::now() + time;
  MutexLock lock(mutex_);
  while (!stopped_ && wake_.WaitUntil(mutex_, until)) continue;
  return !stopped_;
}

}  // namespace tensorhub::store
