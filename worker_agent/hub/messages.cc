// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/hub/messages.h"

#include "absl/status/statusor.h"
#include "common/location.h"
#include "protocol/codec/calls.h"

namespace tensorhub::agent {
namespace {

template <typename Reply>
absl::Status Take(const absl::StatusOr<Reply>& from, CallReply& reply) {
  if (from.ok()) reply.payload = *from;
  return from.status();
}

}  // namespace

protocol::OpenSession OpeningOf(const WorkerFacts& facts, const StateReport& report) {
  protocol::OpenSession out;
  out.worker = facts.self;
  out.world_size = facts.world_size;
  out.location = Location::Parse(facts.location).value_or(Location());  // Agent::Start has checked
  out.stable = !facts.spot;
  out.offers_copies = facts.offers_copies;
  out.copy_of = facts.copy_of;
  out.endpoint = facts.endpoint;
  out.epoch = report.epoch;
  out.joined_epoch = report.joined_epoch;
  out.holding = report.holding;
  out.open_fetch = report.open_fetch;
  out.abandoned_join_op = report.abandoned_join_op;
  out.knows_streams = true;
  out.knows_resharding = true;
  out.knows_boxes = true;
  out.repeats = report.repeats;
  out.read_key = facts.read_key;
  return out;
}

absl::Status FromProto(const v1::PublishResponse& response, CallReply& reply) {
  return Take(protocol::Decode(response), reply);
}
absl::Status FromProto(const v1::UnpublishResponse& response, CallReply& reply) {
  return Take(protocol::Decode(response), reply);
}
absl::Status FromProto(const v1::JoinFetchResponse& response, CallReply& reply) {
  return Take(protocol::Decode(response), reply);
}
absl::Status FromProto(const v1::BeginReadResponse&, CallReply&) { return absl::OkStatus(); }
absl::Status FromProto(const v1::FinishReadResponse& response, CallReply& reply) {
  const absl::Status status = Take(protocol::Decode(response), reply);
  return status.ok() ? protocol::OutcomeOf(response) : status;
}
absl::Status FromProto(const v1::LeaveResponse&, CallReply&) { return absl::OkStatus(); }

}  // namespace tensorhub::agent
