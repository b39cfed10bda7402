// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/hub/messages.h"

#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/protocol_level.h"
#include "common/remedy.h"
#include "common/text.h"
#include "protocol/codec/fields.h"

namespace tensorhub::agent {
namespace {

using protocol::IdBytes;
using protocol::Unsigned;

// Fills a ReadStart, or a request that has its fields.
template <typename Message>
void SetReadStart(const BeginReadCall& call, Message& out) {
  out.set_transaction(IdBytes(call.transaction));
  out.set_generation(call.generation);
  out.set_medium(call.medium);
}

}  // namespace

protocol::OpenSession OpeningOf(const WorkerFacts& facts, const StateReport& report) {
  protocol::OpenSession out;
  out.worker = facts.self;
  out.world_size = facts.world_size;
  out.location = Location::Parse(facts.location).value_or(Location());  // checked by the library
  out.stable = !facts.spot;
  out.offers_copies = facts.offers_copies;
  out.copy_of = facts.copy_of;
  out.endpoint = facts.endpoint;
  out.epoch = report.epoch;
  out.came_in = report.came_in;
  out.holding = report.holding;
  out.open_fetch = report.open_fetch;
  out.gave_up_join = report.gave_up_join;
  out.knows_streams = true;
  out.knows_resharding = true;
  out.repeats = report.repeats;
  out.read_key = facts.read_key;
  return out;
}

v1::PublishRequest ToProto(const PublishCall& call) {
  v1::PublishRequest out;
  out.set_version(call.version);
  out.set_layout(IdBytes(call.layout));
  out.set_attachment(IdBytes(call.attachment));
  out.set_chunk_bytes(call.chunk_bytes);
  out.set_generation(call.generation);
  out.set_wait_for_group(call.wait_for_group);
  out.set_timeout_ms(Unsigned(call.timeout_ms));
  out.set_supersede(call.supersede);
  out.set_knows_term(call.knows_term);
  out.set_medium(call.medium);
  out.set_hashes(call.hashes);
  out.set_digest(IdBytes(call.digest));
  out.set_compared(IdBytes(call.compared));
  return out;
}

v1::UnpublishRequest ToProto(const UnpublishCall& call) {
  v1::UnpublishRequest out;
  out.set_generation(call.generation);
  out.set_drain_ms(Unsigned(call.drain_ms));
  out.set_leaving(call.leaving);
  out.set_force(call.force);
  if (call.then_read) SetReadStart(*call.then_read, *out.mutable_then_read());
  return out;
}

v1::JoinFetchRequest ToProto(const JoinFetchCall& call) {
  v1::JoinFetchRequest out;
  switch (call.selector.kind) {
    case VersionSelector::Kind::kLatest:
      out.mutable_selector()->set_latest(true);
      break;
    case VersionSelector::Kind::kExact:
      out.mutable_selector()->set_exact(call.selector.version);
      break;
    case VersionSelector::Kind::kNewerThan:
      out.mutable_selector()->set_newer_than(call.selector.version);
      break;
  }
  out.set_layout(IdBytes(call.layout));
  out.set_timeout_ms(Unsigned(call.timeout_ms));
  if (call.held_in) out.set_held_in(*call.held_in);
  return out;
}

v1::BeginReadRequest ToProto(const BeginReadCall& call) {
  v1::BeginReadRequest out;
  SetReadStart(call, out);
  return out;
}

v1::FinishReadRequest ToProto(const FinishReadCall& call) {
  v1::FinishReadRequest out;
  out.set_transaction(IdBytes(call.transaction));
  out.set_code(StatusCodeToWire(call.result));
  out.set_reason(protocol::ReasonText(call.result));
  out.set_outage(IsOutage(call.result));
  out.set_digest(IdBytes(call.digest));
  return out;
}

v1::LeaveRequest ToProto(const LeaveCall&) { return {}; }

absl::Status FromProto(const v1::PublishResponse& response, CallReply& reply) {
  protocol::HubFields fields;
  PublishReply out;
  out.publication = fields.Id(response.publication(), "PublishResponse.publication");
  out.chunk_bytes = response.chunk_bytes();
  out.visible = response.visible();
  out.epoch = protocol::Decode(response.group_epoch());
  out.term = protocol::Decode(response.term());
  out.compare = response.compare();
  out.holder = protocol::Decode(response.holder());
  out.endpoint = response.holder_endpoint();
  out.generation = response.holder_generation();
  out.capability =
      fields.CapabilityOrNone(response.holder_capability(), "PublishResponse.holder_capability");
  if (fields.status().ok()) reply.payload = out;
  return fields.status();
}

absl::Status FromProto(const v1::UnpublishResponse& response, CallReply& reply) {
  reply.payload = UnpublishReply{response.readers_left(), response.begun()};
  return absl::OkStatus();
}

absl::Status FromProto(const v1::JoinFetchResponse& response, CallReply& reply) {
  protocol::HubFields fields;
  FetchDecision out;
  out.transaction = fields.Id(response.transaction(), "JoinFetchResponse.transaction");
  out.publication = fields.Id(response.publication(), "JoinFetchResponse.publication");
  out.version = response.version();
  out.world_size = response.world_size();
  out.chunk_bytes = response.chunk_bytes();
  out.attachment = fields.IdOrNone(response.attachment(), "JoinFetchResponse.attachment");
  out.already_held = response.already_held();
  out.term = protocol::Decode(response.term());
  out.sharding.id = fields.IdOrNone(response.sharding(), "JoinFetchResponse.sharding");
  out.sharding.full = response.full();
  if (fields.status().ok()) reply.payload = out;
  return fields.status();
}

absl::Status FromProto(const v1::BeginReadResponse&, CallReply&) { return absl::OkStatus(); }

absl::Status FromProto(const v1::FinishReadResponse& response, CallReply& reply) {
  protocol::HubFields fields;
  const FinishReply out{response.version(),
                        fields.IdOrNone(response.identity(), "FinishReadResponse.identity")};
  if (!fields.status().ok()) return fields.status();
  reply.payload = out;
  return AsOutage(StatusFromWire(response.code(), response.reason()), response.outage());
}

absl::Status FromProto(const v1::LeaveResponse&, CallReply&) { return absl::OkStatus(); }

}  // namespace tensorhub::agent
