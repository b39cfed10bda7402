// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a session's end is to be understood.

#ifndef TENSORHUB_WORKER_AGENT_CORE_REFUSAL_H_
#define TENSORHUB_WORKER_AGENT_CORE_REFUSAL_H_

#include "absl/status/status.h"

namespace tensorhub::agent {

// The hub knows of this worker and wants it no more, or will never take it as it is: another
// session would end the same way.
inline bool IsRefusal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_REFUSAL_H_
