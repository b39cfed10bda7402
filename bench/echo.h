// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The least that a call can cost: an empty unary call to the same server, its own health check
// (grpc.health.v1), which never reaches the hub. The calling thread waits for the answer itself, on
// a queue of its own.
//
// Thread contract: one thread per Echo; channels may be shared.

#ifndef TENSORHUB_BENCH_ECHO_H_
#define TENSORHUB_BENCH_ECHO_H_

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>

#include "absl/status/status.h"

namespace tensorhub::bench {

class Echo {
 public:
  Echo();
  ~Echo();
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  absl::Status Call(const std::shared_ptr<grpc::Channel>& channel);

 private:
  grpc::CompletionQueue queue_;
  const grpc::ByteBuffer nothing_;
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_ECHO_H_
