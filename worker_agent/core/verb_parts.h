// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the files of the verbs share.

#ifndef TENSORHUB_WORKER_AGENT_CORE_VERB_PARTS_H_
#define TENSORHUB_WORKER_AGENT_CORE_VERB_PARTS_H_

#include "absl/status/status.h"
#include "common/time.h"

namespace tensorhub::agent {

// Beyond the deadline that the hub was given itself, for its answer to travel.
inline constexpr TimeMs kAnswerGraceMs = 500;
// For the hub to take note of an end that is certain already.
inline constexpr TimeMs kSettleMs = 2000;

inline absl::Status BadAnswer() {
  return absl::InternalError("the server's answer does not fit the call; are the versions equal?");
}

// R9: a failure without a reason must not pass for a success.
inline absl::Status ReasonOf(const absl::Status& status) {
  return status.ok() ? absl::InternalError("the server gave no reason") : status;
}

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_VERB_PARTS_H_
