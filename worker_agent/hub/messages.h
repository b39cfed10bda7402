// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a session begins with, and what the hub answers to calls. Pure functions; what the hub sends
// is checked.

#ifndef TENSORHUB_WORKER_AGENT_HUB_MESSAGES_H_
#define TENSORHUB_WORKER_AGENT_HUB_MESSAGES_H_

#include <string>

#include "absl/status/status.h"
#include "common/capability.h"
#include "protocol/messages/reports.h"
#include "tensorhub/v1/hub.pb.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::agent {

// What a worker says of itself in every session.
struct WorkerFacts {
  WorkerIdentity self;
  uint32_t world_size = 1;
  std::string location;
  bool spot = false;
  std::string endpoint;
  bool offers_copies = false;   // R7: makes a copy in host memory when asked
  std::string copy_of = {};     // is one: of that group's
  CapabilityKey read_key = {};  // R9: CoreOptions::read_key
};

// The session's first message. The caller adds its number and what it knows of the hub, and the
// endpoint, which may have changed.
protocol::OpenSession OpeningOf(const WorkerFacts& facts, const StateReport& report);

// Fill the reply's payload; INVALID_ARGUMENT for what no hub of ours answers, and of FinishRead the
// outcome.
absl::Status FromProto(const v1::PublishResponse& response, CallReply& reply);
absl::Status FromProto(const v1::UnpublishResponse& response, CallReply& reply);
absl::Status FromProto(const v1::JoinFetchResponse& response, CallReply& reply);
absl::Status FromProto(const v1::BeginReadResponse& response, CallReply& reply);
absl::Status FromProto(const v1::FinishReadResponse& response, CallReply& reply);
absl::Status FromProto(const v1::LeaveResponse& response, CallReply& reply);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_MESSAGES_H_
