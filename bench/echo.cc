// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/echo.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/slice.h>

#include <chrono>

#include "common/check.h"
#include "common/grpc_status.h"

namespace tensorhub::bench {
namespace {

constexpr char kMethod[] = "/grpc.health.v1.Health/Check";
constexpr std::chrono::seconds kPatience{20};

// A message without fields is no bytes at all.
grpc::ByteBuffer EmptyMessage() {
  const grpc::Slice empty;
  return grpc::ByteBuffer(&empty, 1);
}

}  // namespace

Echo::Echo() : nothing_(EmptyMessage()) {}

Echo::~Echo() {
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

absl::Status Echo::Call(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  context.set_wait_for_ready(true);
  grpc::GenericStub stub(channel);
  const auto call = stub.PrepareUnaryCall(&context, kMethod, nothing_, &queue_);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, this);
  void* tag = nullptr;
  bool ok = false;
  TH_CHECK(queue_.Next(&tag, &ok) && tag == this);
  return FromGrpc(status);
}

}  // namespace tensorhub::bench
