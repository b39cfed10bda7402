// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Start and end of a server: the port, health, and a shutdown that nothing open can hold up.

#include <future>

#include "tests/unit/server/rpc/server_fixture.h"

namespace tensorhub::rpc {
namespace {

TEST_F(ServerTest, ASecondServerOnThePortIsRefused) {
  RpcServer::Options options = DefaultOptions();
  options.listen = server_->address();
  const auto second = RpcServer::Start(options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              testing::HasSubstr(server_->address().ToString()));
}

TEST_F(ServerTest, ThePortIsFreeAfterwards) {
  RpcServer::Options options = DefaultOptions();
  options.listen = server_->address();
  server_->Shutdown();
  EXPECT_TRUE(RpcServer::Start(options).ok());
}

TEST_F(ServerTest, AServerThatWasShutDownServesNobody) {
  server_->Shutdown();
  server_->Shutdown();
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetStatusResponse response;
  EXPECT_FALSE(admin_->GetStatus(&context, {}, &response).ok());
}

TEST_F(ServerTest, ShutdownEndsStreamsAndCalls) {
  auto trainer = Trainer(1);
  grpc::ClientContext watch_context;
  SetDeadline(watch_context);
  v1::WatchRequest request;
  request.set_model("actor");
  auto watch = admin_->Watch(&watch_context, request);
  v1::WatchEvent event;
  ASSERT_TRUE(watch->Read(&event));
  grpc::ClientContext wait_context;
  SetDeadline(wait_context);
  v1::WaitForVersionRequest wait;
  wait.set_model("actor");
  wait.set_newer_than(1);
  wait.set_timeout_ms(60'000);
  v1::WaitForVersionResponse waited;
  std::promise<grpc::Status> answer;
  trainer->stub().async()->WaitForVersion(&wait_context, &wait, &waited,
                                          [&](grpc::Status status) { answer.set_value(status); });
  for (int i = 0; i < 10; ++i) Status();  // on the same connection: the call before has arrived
  server_->Shutdown();
  EXPECT_EQ(trainer->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  while (watch->Read(&event)) {
  }
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(answer.get_future().get().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ServerTest, ShutdownDoesNotWaitForAStreamThatNobodyReads) {
  grpc::ClientContext context;
  auto stub = v1::Hub::NewStub(channel_);
  auto session = stub->Session(&context);  // never says anything
  server_->Shutdown();
  context.TryCancel();
}

}  // namespace
}  // namespace tensorhub::rpc
