// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/worker_agent/scripted_hub.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "common/check.h"

namespace tensorhub::agent {

ScriptedHub::ScriptedHub() {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  TH_CHECK(server_ != nullptr && port > 0);
  address_ = "127.0.0.1:" + std::to_string(port);
}

ScriptedHub::~ScriptedHub() { server_->Shutdown(std::chrono::system_clock::now()); }

void ScriptedHub::Add(Plan plan) {
  MutexLock lock(mutex_);
  plans_.push_back(std::move(plan));
}

std::vector<v1::OpenSession> ScriptedHub::opened() {
  MutexLock lock(mutex_);
  return opened_;
}

int ScriptedHub::hung_up() {
  MutexLock lock(mutex_);
  return hung_up_;
}

std::vector<std::string> ScriptedHub::peers() {
  MutexLock lock(mutex_);
  return peers_;
}

ScriptedHub::Plan ScriptedHub::Take(const v1::OpenSession& open, const std::string& peer) {
  MutexLock lock(mutex_);
  opened_.push_back(open);
  peers_.push_back(peer);
  TH_CHECK(!plans_.empty());
  Plan plan = plans_.front();
  if (plans_.size() > 1) plans_.pop_front();
  return plan;
}

grpc::Status ScriptedHub::Session(grpc::ServerContext* context, Stream* stream) {
  v1::WorkerMessage message;
  if (!stream->Read(&message)) return grpc::Status::CANCELLED;
  const Plan plan = Take(message.open(), context->peer());
  if (plan.welcome) {
    v1::HubMessage welcome;
    *welcome.mutable_welcome() = *plan.welcome;
    stream->Write(welcome);
  }
  for (const v1::HubMessage& next : plan.then) stream->Write(next);
  if (plan.await_message && !stream->Read(&message)) {
    MutexLock lock(mutex_);
    ++hung_up_;
  }
  return plan.end;
}

grpc::Status ScriptedHub::Publish(grpc::ServerContext* /*context*/,
                                  const v1::PublishRequest* /*request*/,
                                  v1::PublishResponse* /*response*/) {
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, "not now");
}

grpc::Status ScriptedHub::PutLayout(grpc::ServerContext* /*context*/,
                                    const v1::PutLayoutRequest* /*request*/,
                                    v1::PutLayoutResponse* /*response*/) {
  const bool fails = ++puts_ <= puts_to_fail_;
  return fails ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "overloaded") : grpc::Status::OK;
}

v1::Welcome WelcomeOf(char store, uint64_t epoch) {
  constexpr size_t kIdBytes = 16;
  constexpr uint64_t kHourMs = 3600 * 1000;
  v1::Welcome welcome;
  welcome.set_store_id(std::string(kIdBytes, store));
  welcome.set_epoch(epoch);
  welcome.set_lease_ms(kHourMs);
  welcome.set_heartbeat_ms(kHourMs);
  return welcome;
}

}  // namespace tensorhub::agent
