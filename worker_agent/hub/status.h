// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the end of a call to the hub means: the hub's own answer, or that it was not reached.

#ifndef TENSORHUB_WORKER_AGENT_HUB_STATUS_H_
#define TENSORHUB_WORKER_AGENT_HUB_STATUS_H_

#include <grpcpp/support/status.h>

#include <chrono>

#include "absl/status/status.h"

namespace tensorhub::agent {

// UNAVAILABLE for whatever says that the hub was not reached, or that another session took over;
// the call may be repeated then. Else the status as it is.
absl::Status HubStatus(const grpc::Status& status);
// The same of a call that had until `deadline`, ours: when that has passed, the hub was not
// reached. The hub's own time-outs come earlier and are its answer.
absl::Status HubStatus(const grpc::Status& status, std::chrono::steady_clock::time_point deadline);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_STATUS_H_
