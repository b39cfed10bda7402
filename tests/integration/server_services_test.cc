// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a server offers besides our own services, to probes and to tools that list them; and how it
// is ended from a terminal.

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <string>

#include "tests/integration/harness/server_process.h"

namespace tensorhub {
namespace {

using harness::ServerProcess;
using std::chrono::seconds;

struct Answer {
  grpc::Status status;
  std::string bytes;
};

// One message in its encoded form, and the answer in its own.
Answer Call(const ServerProcess& server, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + seconds(20));
  const grpc::Slice slice(request);
  const auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer body;
  Answer answer;
  call->Finish(&body, &answer.status, &answer);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok) && tag == &answer);
  grpc::Slice whole;
  if (answer.status.ok() && body.DumpToSingleSlice(&whole).ok()) {
    answer.bytes.assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
  }
  return answer;
}

// grpc.health.v1: the first field of the answer is the state, and 1 is SERVING.
TEST(ServerServices, HealthIsWhatProbesExpect) {
  const ServerProcess server;
  const Answer whole = Call(server, "/grpc.health.v1.Health/Check", "");
  EXPECT_TRUE(whole.status.ok()) << whole.status.error_message();
  EXPECT_EQ(whole.bytes, "\x08\x01");
  const Answer unknown = Call(server, "/grpc.health.v1.Health/Check", "\x0a\x04none");
  EXPECT_EQ(unknown.status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(ServerServices, AreListedUnlessTheyAreNotToBe) {
  const std::string list = "\x3a\x01*";  // ServerReflectionRequest.list_services
  const std::string method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  const ServerProcess listing;
  const Answer all = Call(listing, method, list);
  EXPECT_TRUE(all.status.ok()) << all.status.error_message();
  EXPECT_NE(all.bytes.find("tensorhub.v1.Hub"), std::string::npos);
  EXPECT_NE(all.bytes.find("tensorhub.v1.Admin"), std::string::npos);
  const ServerProcess silent({"--reflection=false"});
  EXPECT_EQ(Call(silent, method, list).status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(Call(silent, "/grpc.health.v1.Health/Check", "").status.ok());
}

TEST(ServerServices, EndWithTheServerInOrder) {
  for (const int number : {SIGINT, SIGTERM}) {
    ServerProcess server;
    server.process().Signal(number);
    EXPECT_EQ(server.process().Wait(seconds(10)), 0) << server.process().Describe();
  }
}

}  // namespace
}  // namespace tensorhub
