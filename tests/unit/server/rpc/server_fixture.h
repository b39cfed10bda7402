// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A server in this process, and workers that speak to it through plain stubs.

#ifndef TENSORHUB_TESTS_UNIT_SERVER_RPC_SERVER_FIXTURE_H_
#define TENSORHUB_TESTS_UNIT_SERVER_RPC_SERVER_FIXTURE_H_

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "server/rpc/rpc_server.h"
#include "tensorhub/v1/admin.grpc.pb.h"
#include "tensorhub/v1/hub.grpc.pb.h"
#include "tests/integration/harness/eventually.h"

namespace tensorhub::rpc {

inline constexpr std::chrono::seconds kPatience(30);

inline void SetDeadline(grpc::ClientContext& context,
                        std::chrono::milliseconds patience = kPatience) {
  context.set_deadline(std::chrono::system_clock::now() + patience);
}

// One worker: its session and its calls.
class TestWorker {
 public:
  TestWorker(const std::shared_ptr<grpc::Channel>& channel, const std::string& group)
      : stub_(v1::Hub::NewStub(channel)) {
    id_.set_model("actor");
    id_.set_group(group);
    id_.set_incarnation(std::hash<std::string>()(group) | 1);
    layout_ = Layout::Make({{.name = "w", .dtype = DType::kF32, .shape = {1 << 20}, .slice = {}}})
                  .value();
    SetDeadline(context_);
  }
  ~TestWorker() { Kill(); }

  // Sends `open` and reads the answer; false if the stream ended instead.
  bool Open(v1::OpenSession open = {}) {
    *open.mutable_worker() = id_;
    if (open.session_number() == 0) open.set_session_number(1);
    if (open.world_size() == 0) open.set_world_size(1);
    open.set_endpoint("endpoint of " + id_.group());
    session_ = stub_->Session(&context_);
    v1::WorkerMessage message;
    *message.mutable_open() = open;
    return Send(message) && session_->Read(&received_) && received_.has_welcome();
  }
  bool Send(const v1::WorkerMessage& message) { return session_->Write(message); }
  bool Read() { return session_->Read(&received_); }
  const v1::HubMessage& received() const { return received_; }
  // What the stream ended with.
  grpc::Status Finish() {
    while (session_->Read(&received_)) {
    }
    grpc::Status status = session_->Finish();
    session_.reset();
    return status;
  }
  // As a process that dies: no goodbye.
  void Kill() {
    if (session_ == nullptr) return;
    context_.TryCancel();
    Finish();
  }

  grpc::Status PutLayout() {
    v1::PutLayoutRequest request;
    request.set_encoded(layout_.Encode());
    v1::PutLayoutResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    return stub_->PutLayout(&context, request, &response);
  }
  grpc::Status Publish(uint64_t version, v1::PublishResponse* response) {
    auto request = Operation<v1::PublishRequest>();
    request.set_version(version);
    request.set_layout(ToBytes(layout_.fingerprint()));
    request.set_chunk_bytes(1 << 20);
    request.set_generation(generation_);
    grpc::ClientContext context;
    SetDeadline(context);
    return stub_->Publish(&context, request, response);
  }
  grpc::Status Unpublish(v1::UnpublishResponse* response) {
    auto request = Operation<v1::UnpublishRequest>();
    request.set_generation(generation_++);
    request.set_drain_ms(100);
    grpc::ClientContext context;
    SetDeadline(context);
    return stub_->Unpublish(&context, request, response);
  }
  grpc::Status Join(v1::JoinFetchResponse* response) {
    auto request = Operation<v1::JoinFetchRequest>();
    request.mutable_selector()->set_latest(true);
    request.set_layout(ToBytes(layout_.fingerprint()));
    request.set_timeout_ms(5000);
    grpc::ClientContext context;
    SetDeadline(context);
    return stub_->JoinFetch(&context, request, response);
  }
  grpc::Status Begin(const std::string& transaction) {
    auto request = Operation<v1::BeginReadRequest>();
    request.set_transaction(transaction);
    request.set_generation(generation_);
    v1::BeginReadResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    return stub_->BeginRead(&context, request, &response);
  }
  grpc::Status FinishRead(const std::string& transaction, v1::FinishReadResponse* response) {
    auto request = Operation<v1::FinishReadRequest>();
    request.set_transaction(transaction);
    grpc::ClientContext context;
    SetDeadline(context);
    return stub_->FinishRead(&context, request, response);
  }
  grpc::Status Wait(uint64_t newer_than, std::chrono::milliseconds patience,
                    v1::WaitForVersionResponse* response) {
    v1::WaitForVersionRequest request;
    request.set_model(id_.model());
    request.set_newer_than(newer_than);
    request.set_timeout_ms(60'000);
    grpc::ClientContext context;
    SetDeadline(context, patience);
    return stub_->WaitForVersion(&context, request, response);
  }

  const Layout& layout() const { return layout_; }
  uint64_t generation() const { return generation_; }
  v1::Hub::Stub& stub() { return *stub_; }

 private:
  template <typename Request>
  Request Operation() {
    Request request;
    *request.mutable_worker() = id_;
    request.set_op(++op_);
    return request;
  }

  std::unique_ptr<v1::Hub::Stub> stub_;
  v1::WorkerId id_;
  Layout layout_;
  uint64_t op_ = 0;
  uint64_t generation_ = 100;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::HubMessage>> session_;
  v1::HubMessage received_;
};

class ServerTest : public testing::Test {
 protected:
  static RpcServer::Options DefaultOptions() {
    RpcServer::Options options;
    options.listen = {"127.0.0.1", 0};
    options.identity = {.store_id = {1, 2}, .epoch = 3};
    options.loop.hub.store = options.identity.store_id;
    options.data_dir = "/the/data";
    // Far from every wait: what is noticed is noticed by other means than a lease's end.
    options.loop.hub.lease_ms = 60'000;
    options.watch_queue_max = 4;
    return options;
  }
  void SetUp() override {
    auto server = RpcServer::Start(DefaultOptions());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ =
        grpc::CreateChannel(server_->address().ToString(), grpc::InsecureChannelCredentials());
    admin_ = v1::Admin::NewStub(channel_);
  }

  v1::GetStatusResponse Status() {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetStatusResponse response;
    EXPECT_TRUE(admin_->GetStatus(&context, {}, &response).ok());
    return response;
  }
  // A trainer with a session, that has published `version`.
  std::unique_ptr<TestWorker> Trainer(uint64_t version) {
    auto worker = std::make_unique<TestWorker>(channel_, "trainer");
    EXPECT_TRUE(worker->Open());
    EXPECT_TRUE(worker->PutLayout().ok());
    v1::PublishResponse published;
    const grpc::Status status = worker->Publish(version, &published);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(published.visible());
    return worker;
  }
  // Patient with a busy machine. Each look is a call.
  bool Eventually(const std::function<bool()>& condition) {
    return harness::Eventually(std::chrono::seconds(20), condition);
  }

  std::unique_ptr<RpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Admin::Stub> admin_;
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_TESTS_UNIT_SERVER_RPC_SERVER_FIXTURE_H_
