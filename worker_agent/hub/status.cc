// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/hub/status.h"

#include "common/grpc_status.h"

namespace tensorhub::agent {
namespace {

constexpr std::chrono::milliseconds kRounding(5);  // gRPC counts in whole milliseconds

}  // namespace

absl::Status HubStatus(const grpc::Status& status) {
  return WasCut(status) ? absl::UnavailableError(status.error_message()) : FromGrpc(status);
}

// The wall clock may have been set meanwhile.
absl::Status HubStatus(const grpc::Status& status, std::chrono::steady_clock::time_point deadline) {
  const bool ours = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED &&
                    std::chrono::steady_clock::now() + kRounding >= deadline;
  return ours ? absl::UnavailableError("the server did not answer in time") : HubStatus(status);
}

}  // namespace tensorhub::agent
