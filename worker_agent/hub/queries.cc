// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/hub/queries.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/hub/status.h"

namespace tensorhub::agent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPause(200);
// The hub answers at the time-out itself; its answer has to travel.
constexpr TimeMs kGraceMs = 500;

absl::Status Left() {
  return absl::FailedPreconditionError("this client has left; connect a new one");
}

// One line for all ranks of a group that hold one version.
void Add(const v1::ReferenceInfo& reference, uint32_t ranks,
         std::map<std::string, ListedReplica>& replicas) {
  ListedReplica& replica = replicas[reference.group()];
  replica.group = reference.group();
  replica.ranks = ranks;
  const bool complete = reference.state() == "complete";
  if (complete) ++replica.ranks_complete;
  // The rank that is furthest from serving says what the replica is.
  if (replica.state.empty() || !complete) replica.state = reference.state();
}

std::vector<ListedVersion> Join(const v1::ListVersionsResponse& versions,
                                const v1::ListReplicasResponse& replicas) {
  std::vector<ListedVersion> listed;
  for (const v1::VersionInfo& info : versions.versions()) {
    std::map<std::string, ListedReplica> groups;
    for (const v1::ReferenceInfo& reference : replicas.references()) {
      const bool told = !reference.publication().empty();  // by an older server it is not
      if (told && reference.publication() != info.publication()) continue;
      if (reference.version() == info.version()) Add(reference, info.world_size(), groups);
    }
    ListedVersion version{info.version(), info.state(), info.bytes(), {}};
    version.term = info.term();
    version.identity = FromBytes(info.identity()).value_or(ContentDigest{});
    for (auto& [name, replica] : groups) version.replicas.push_back(std::move(replica));
    listed.push_back(std::move(version));
  }
  std::stable_sort(
      listed.begin(), listed.end(),
      [](const ListedVersion& a, const ListedVersion& b) { return a.version < b.version; });
  return listed;
}

}  // namespace

HubQueries::HubQueries(std::shared_ptr<HubChannel> channel, std::string server, std::string model)
    : channel_(std::move(channel)), server_(std::move(server)), model_(std::move(model)) {}

absl::StatusOr<VersionNumber> HubQueries::WaitForVersion(const VersionWait& wait) {
  v1::WaitForVersionRequest request;
  request.set_model(model_);
  request.set_any(wait.any);
  request.set_newer_than(wait.newer_than);
  request.set_max_lag(wait.max_lag);
  if (wait.held_in) request.set_held_in(*wait.held_in);
  v1::WaitForVersionResponse response;
  const Ask ask = [&](grpc::ClientContext& context, TimeMs left_ms) {
    const std::stop_callback on_cancel(wait.cancel, [&context] { context.TryCancel(); });
    request.set_timeout_ms(static_cast<uint64_t>(left_ms));
    return v1::Hub::NewStub(channel_->Get())->WaitForVersion(&context, request, &response);
  };
  absl::Status status = Repeat(wait.timeout_ms, ask, wait.cancel);
  if (wait.cancel.stop_requested()) {
    return absl::CancelledError("the wait was cancelled by its caller");
  }
  if (absl::IsUnavailable(status)) {
    status = absl::DeadlineExceededError(
        absl::StrCat("no version came in time: ", std::string(status.message())));
  }
  if (!status.ok()) return status;
  return response.version();
}

absl::StatusOr<std::vector<ListedVersion>> HubQueries::List(TimeMs within_ms) {
  v1::ListVersionsRequest ask_versions;
  ask_versions.set_model(model_);
  v1::ListVersionsResponse versions;
  absl::Status status = Repeat(within_ms, [&](grpc::ClientContext& context, TimeMs) {
    return v1::Admin::NewStub(channel_->Get())->ListVersions(&context, ask_versions, &versions);
  });
  if (!status.ok()) return status;
  v1::ListReplicasRequest ask_replicas;
  ask_replicas.set_model(model_);
  v1::ListReplicasResponse replicas;
  status = Repeat(within_ms, [&](grpc::ClientContext& context, TimeMs) {
    return v1::Admin::NewStub(channel_->Get())->ListReplicas(&context, ask_replicas, &replicas);
  });
  if (!status.ok()) return status;
  return Join(versions, replicas);
}

absl::StatusOr<std::string> HubQueries::GetLayout(const Fingerprint& fingerprint,
                                                  TimeMs within_ms) {
  v1::GetLayoutRequest request;
  request.set_fingerprint(ToBytes(fingerprint));
  v1::GetLayoutResponse response;
  const absl::Status status = Repeat(within_ms, [&](grpc::ClientContext& context, TimeMs) {
    return v1::Admin::NewStub(channel_->Get())->GetLayout(&context, request, &response);
  });
  if (!status.ok()) return status;
  return std::move(*response.mutable_encoded());
}

absl::Status HubQueries::Repeat(TimeMs timeout_ms, const Ask& ask, const std::stop_token& cancel) {
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    const absl::Status status = Once(ask, std::max<TimeMs>(left.count(), 1));
    if (!absl::IsUnavailable(status) || Clock::now() + kPause >= until) return status;
    if (!Pause()) return Left();
    if (cancel.stop_requested()) return status;
  }
}

absl::Status HubQueries::Once(const Ask& ask, TimeMs left_ms) {
  const std::chrono::milliseconds left(left_ms + kGraceMs);
  const auto deadline = Clock::now() + left;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + left);
  {
    MutexLock lock(mutex_);
    if (stopped_) return Left();
    running_.insert(&context);
  }
  const std::string server = channel_->GetWay().server;
  const grpc::Status status = ask(context, left_ms);
  const absl::Status ended = HubStatus(status, deadline);
  channel_->Note(server, ended);
  MutexLock lock(mutex_);
  running_.erase(&context);
  return stopped_ && !status.ok() ? Left() : Named(ended);
}

absl::Status HubQueries::Named(const absl::Status& status) const {
  if (!absl::IsUnavailable(status)) return status;
  return absl::UnavailableError(absl::StrCat("the server ", server_,
                                             " is not reached; is it running? (",
                                             std::string(status.message()), ")"));
}

bool HubQueries::Pause() {
  const auto until = Clock::now() + kPause;
  MutexLock lock(mutex_);
  while (!stopped_ && stop_asked_.WaitUntil(mutex_, until)) {
  }
  return !stopped_;
}

void HubQueries::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  for (grpc::ClientContext* context : running_) context->TryCancel();
  stop_asked_.NotifyAll();
}

}  // namespace tensorhub::agent
