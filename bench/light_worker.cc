// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/light_worker.h"

#include <grpcpp/client_context.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/capability.h"
#include "common/grpc_status.h"
#include "common/ids.h"
#include "common/mutex.h"
#include "common/random.h"
#include "worker_agent/hub/session.h"

namespace tensorhub::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kBenchModel[] = "bench";
constexpr uint64_t kVersion = 1;
constexpr std::chrono::seconds kCallPatience{20};
constexpr uint64_t kPatienceMs = 20'000;
// Readers are moved to other sources at once, and say so.
constexpr uint64_t kDrainMs = 10'000;
constexpr uint32_t kLightPerHost = 8;
constexpr uint32_t kHostsPerRack = 16;

std::string LocationOf(uint32_t number) {
  const uint32_t host = number / kLightPerHost;
  return absl::StrCat("bench/bench/rack", host / kHostsPerRack, "/host", host, "/",
                      number % kLightPerHost);
}

v1::Holding Whole(const Layout& layout, const std::string& publication, uint64_t chunk_bytes,
                  uint64_t generation) {
  v1::Holding holding;
  holding.set_publication(publication);
  holding.set_version(kVersion);
  holding.set_world_size(1);
  holding.set_chunk_bytes(chunk_bytes);
  holding.set_layout(ToBytes(layout.fingerprint()));
  holding.set_generation(generation);
  holding.set_valid_chunks(Chunking{layout.total_bytes(), chunk_bytes}.count());
  holding.set_complete(true);
  holding.set_visible(true);
  return holding;
}

}  // namespace

class LightWorker::Heard {
 public:
  void SetSession(const std::shared_ptr<agent::HubSession>& session) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    session_ = session;
  }
  // Null before it is open, and once it has ended.
  std::shared_ptr<agent::HubSession> session() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return session_.lock();
  }

  // Before another session: nothing has been heard of that one.
  void Forget() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    heartbeat_ms_.reset();
    ended_.reset();
  }

  void OnMessage(const v1::HubMessage& message) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnEnd(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // The heartbeat's interval.
  absl::StatusOr<std::chrono::milliseconds> AwaitWelcome() ABSL_LOCKS_EXCLUDED(mutex_);
  void AwaitEnd() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  CondVar changed_;
  std::weak_ptr<agent::HubSession> session_ ABSL_GUARDED_BY(mutex_);  // it keeps itself
  std::optional<uint64_t> heartbeat_ms_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> ended_ ABSL_GUARDED_BY(mutex_);
};

void LightWorker::Heard::OnMessage(const v1::HubMessage& message) {
  if (message.has_welcome()) {
    MutexLock lock(mutex_);
    heartbeat_ms_ = message.welcome().heartbeat_ms();
    changed_.NotifyAll();
  }
  // Another source than before: nothing is outstanding at that one.
  if (!message.has_assign() || message.assign().assignment() < 2) return;
  v1::WorkerMessage answer;
  answer.mutable_source_released()->set_transaction(message.assign().transaction());
  answer.mutable_source_released()->set_assignment(message.assign().assignment() - 1);
  if (const auto open = session()) open->Send(std::move(answer));
}

void LightWorker::Heard::OnEnd(const grpc::Status& status) {
  MutexLock lock(mutex_);
  ended_ = status;
  changed_.NotifyAll();
}

absl::StatusOr<std::chrono::milliseconds> LightWorker::Heard::AwaitWelcome() {
  const auto deadline = Clock::now() + kCallPatience;
  MutexLock lock(mutex_);
  while (!heartbeat_ms_) {
    if (ended_) return FromGrpc(*ended_);
    if (!changed_.WaitUntil(mutex_, deadline)) {
      return absl::DeadlineExceededError("the server did not welcome a worker in time");
    }
  }
  return std::chrono::milliseconds(*heartbeat_ms_);
}

void LightWorker::Heard::AwaitEnd() {
  const auto deadline = Clock::now() + kCallPatience;
  MutexLock lock(mutex_);
  while (!ended_ && changed_.WaitUntil(mutex_, deadline)) {
  }
}

LightWorker::LightWorker(std::shared_ptr<grpc::Channel> channel, const std::string& group,
                         uint32_t number)
    : channel_(std::move(channel)),
      stub_(v1::Hub::NewStub(channel_)),
      heard_(std::make_shared<Heard>()),
      location_(LocationOf(number)) {
  id_.set_model(kBenchModel);
  id_.set_group(group);
  id_.set_incarnation(Random(RandomSeed()).NextNonZero());
}

LightWorker::~LightWorker() {
  if (sessions_ == 0) return;
  EndSession();
  heard_->AwaitEnd();
}

absl::Status LightWorker::OpenSession() { return Open({}); }

void LightWorker::AwaitEnd() { heard_->AwaitEnd(); }

absl::Status LightWorker::OpenNextSession() {
  heard_->AwaitEnd();
  heard_->Forget();
  v1::OpenSession open;
  open.set_resumed(true);
  if (holding_) *open.mutable_holding() = *holding_;
  return Open(std::move(open));
}

absl::Status LightWorker::Open(v1::OpenSession open) {
  *open.mutable_worker() = id_;
  open.set_session_number(++sessions_);
  open.set_world_size(1);
  open.set_location(location_);
  open.set_read_key(ToBytes(CapabilityKey::Guessable(id_.incarnation())));
  v1::WorkerMessage opening;
  *opening.mutable_open() = std::move(open);
  heard_->SetSession(agent::HubSession::Open(
      *stub_, std::move(opening),
      {.on_message = [heard = heard_](const v1::HubMessage& message) { heard->OnMessage(message); },
       .on_end = [heard = heard_](const grpc::Status& status) { heard->OnEnd(status); }}));
  const absl::StatusOr<std::chrono::milliseconds> heartbeat = heard_->AwaitWelcome();
  if (!heartbeat.ok()) return heartbeat.status();
  heartbeat_ = *heartbeat;
  return absl::OkStatus();
}

void LightWorker::Beat() {
  v1::WorkerMessage beat;
  beat.mutable_heartbeat();
  if (const auto session = heard_->session()) session->Send(std::move(beat));
}

void LightWorker::EndSession() {
  if (const auto session = heard_->session()) session->Cancel();
}

template <class Request, class Response>
absl::Status LightWorker::Call(const char* name, const OnCall& on_call, Request request,
                               Response& response,
                               grpc::Status (v1::Hub::Stub::*method)(grpc::ClientContext*,
                                                                     const Request&, Response*)) {
  *request.mutable_worker() = id_;
  request.set_op(++op_);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallPatience);
  const auto start = Clock::now();
  const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
  const std::chrono::duration<double, std::micro> us = Clock::now() - start;
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat(name, ": ", status.error_message()));
  }
  on_call(name, us.count());
  return absl::OkStatus();
}

absl::Status LightWorker::PutLayout(const Layout& layout) {
  v1::PutLayoutRequest put;
  put.set_encoded(layout.Encode());
  v1::PutLayoutResponse done;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallPatience);
  const grpc::Status status = stub_->PutLayout(&context, put, &done);
  return status.ok() ? absl::OkStatus() : FromGrpc(status);
}

absl::Status LightWorker::Publish(const Layout& layout) {
  if (absl::Status status = PutLayout(layout); !status.ok()) return status;
  v1::PublishRequest publish;
  publish.set_version(kVersion);
  publish.set_layout(ToBytes(layout.fingerprint()));
  publish.set_chunk_bytes(DefaultChunkBytes(layout.total_bytes()));
  publish.set_generation(++generation_);
  publish.set_timeout_ms(kPatienceMs);
  v1::PublishResponse response;
  absl::Status status = Call(
      "publish", [](const char*, double) {}, publish, response, &v1::Hub::Stub::Publish);
  if (!status.ok()) return status;
  holding_ = Whole(layout, response.publication(), response.chunk_bytes(), generation_);
  holding_->set_published(true);
  return absl::OkStatus();
}

absl::Status LightWorker::Fetch(const Layout& layout, const OnCall& on_call) {
  v1::JoinFetchResponse decision;
  absl::Status status = GiveUp(on_call);
  if (status.ok()) status = Join(layout, on_call, decision);
  if (status.ok()) status = Read(layout, decision, on_call);
  return status;
}

absl::Status LightWorker::GiveUp(const OnCall& on_call) {
  if (!holding_) return absl::OkStatus();
  v1::UnpublishRequest request;
  request.set_generation(generation_);
  request.set_drain_ms(kDrainMs);
  v1::UnpublishResponse response;
  absl::Status status = Call("unpublish", on_call, request, response, &v1::Hub::Stub::Unpublish);
  if (!status.ok()) return status;
  if (!response.drained()) return absl::InternalError("a reader did not let go in time");
  holding_.reset();
  return absl::OkStatus();
}

absl::Status LightWorker::Join(const Layout& layout, const OnCall& on_call,
                               v1::JoinFetchResponse& decision) {
  v1::JoinFetchRequest request;
  request.mutable_selector()->set_latest(true);
  request.set_layout(ToBytes(layout.fingerprint()));
  request.set_timeout_ms(kPatienceMs);
  return Call("join_fetch", on_call, request, decision, &v1::Hub::Stub::JoinFetch);
}

absl::Status LightWorker::Read(const Layout& layout, const v1::JoinFetchResponse& decision,
                               const OnCall& on_call) {
  v1::BeginReadRequest begin;
  begin.set_transaction(decision.transaction());
  begin.set_generation(++generation_);
  v1::BeginReadResponse begun;
  absl::Status status = Call("begin_read", on_call, begin, begun, &v1::Hub::Stub::BeginRead);
  if (!status.ok()) return status;
  v1::FinishReadRequest finish;
  finish.set_transaction(decision.transaction());
  v1::FinishReadResponse outcome;
  status = Call("finish_read", on_call, finish, outcome, &v1::Hub::Stub::FinishRead);
  if (status.ok()) status = StatusFromWire(outcome.code(), outcome.reason());
  if (!status.ok()) return status;
  holding_ = Whole(layout, decision.publication(), decision.chunk_bytes(), generation_);
  return absl::OkStatus();
}

}  // namespace tensorhub::bench
