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

using protocol::Encode;
using protocol::IdBytes;
using protocol::Unsigned;

std::string ReasonOf(const absl::Status& status) {
  return ReadableText(std::string(status.message()), kReasonBytesMax);
}

v1::Holding ToProto(const HoldingReport& report) {
  v1::Holding out;
  out.set_publication(IdBytes(report.publication));
  out.set_version(report.version);
  out.set_world_size(report.world_size);
  out.set_chunk_bytes(report.chunk_bytes);
  out.set_layout(IdBytes(report.layout));
  out.set_attachment(IdBytes(report.attachment));
  out.set_generation(report.generation);
  out.set_valid_chunks(report.valid_chunks);
  out.set_complete(report.complete);
  out.set_published(report.published);
  out.set_visible(report.visible);
  out.set_medium(report.medium);
  *out.mutable_group_epoch() = Encode(report.epoch);
  out.set_digest(IdBytes(report.digest));
  out.set_hashing(report.hashing);
  *out.mutable_term() = Encode(report.term);
  out.set_sharding(IdBytes(report.sharding.id));
  out.set_full(report.sharding.full);
  return out;
}

v1::OpenFetch ToProto(const OpenFetchReport& report) {
  v1::OpenFetch out;
  out.set_transaction(IdBytes(report.transaction));
  out.set_publication(IdBytes(report.publication));
  out.set_version(report.version);
  out.set_finished(report.finished);
  if (report.source) *out.mutable_source() = Encode(*report.source);
  out.set_source_generation(report.source_generation);
  out.set_assignment(report.assignment);
  out.set_plan(report.plan);
  out.set_sharding(IdBytes(report.sharding.id));
  out.set_full(report.sharding.full);
  for (const OpenStreamReport& stream : report.streams) {
    v1::OpenStream& open = *out.add_streams();
    open.set_part(stream.part);
    *open.mutable_source() = Encode(stream.source);
    open.set_source_generation(stream.generation);
    open.set_assignment(stream.assignment);
  }
  return out;
}

// Fills a ReadStart, or a request that has its fields.
template <typename Message>
void SetReadStart(const BeginReadCall& call, Message& out) {
  out.set_transaction(IdBytes(call.transaction));
  out.set_generation(call.generation);
  out.set_medium(call.medium);
}

void Put(const HeartbeatMessage& said, v1::WorkerMessage& out) {
  out.mutable_heartbeat()->set_gave_up_join(said.gave_up_join);
}
void Put(const ProgressMessage& message, v1::WorkerMessage& out) {
  v1::Progress& progress = *out.mutable_progress();
  progress.set_publication(IdBytes(message.publication));
  progress.set_generation(message.generation);
  progress.set_valid_chunks(message.valid_chunks);
  progress.set_way(ReadableText(message.way, kWayBytesMax));
}
void Put(const SourceReleasedMessage& message, v1::WorkerMessage& out) {
  v1::SourceReleased& released = *out.mutable_source_released();
  released.set_transaction(IdBytes(message.transaction));
  released.set_assignment(message.assignment);
}
void Put(const SourceFailedMessage& message, v1::WorkerMessage& out) {
  v1::SourceFailed& failed = *out.mutable_source_failed();
  failed.set_transaction(IdBytes(message.transaction));
  failed.set_assignment(message.assignment);
  failed.set_code(StatusCodeToWire(message.reason));
  failed.set_reason(ReasonOf(message.reason));
  failed.set_outage(IsOutage(message.reason));
}
void Put(const SourceSilentMessage& message, v1::WorkerMessage& out) {
  v1::SourceSilent& silent = *out.mutable_source_silent();
  silent.set_transaction(IdBytes(message.transaction));
  silent.set_assignment(message.assignment);
}
void Put(const ProbeAnswerMessage& message, v1::WorkerMessage& out) {
  v1::ProbeAnswer& answer = *out.mutable_probe_answer();
  answer.set_generation(message.generation);
  answer.set_holds(message.holds);
  answer.set_verified(message.verified);
}

void Put(const ContentHashedMessage& message, v1::WorkerMessage& out) {
  v1::ContentHashed& hashed = *out.mutable_content_hashed();
  hashed.set_publication(IdBytes(message.publication));
  hashed.set_generation(message.generation);
  hashed.set_digest(IdBytes(message.digest));
}

void Put(const CopyFailedMessage& message, v1::WorkerMessage& out) {
  v1::CopyFailed& failed = *out.mutable_copy_failed();
  failed.set_version(message.version);
  failed.set_code(StatusCodeToWire(message.reason));
  failed.set_reason(ReasonOf(message.reason));
}

}  // namespace

v1::OpenSession ToProto(const WorkerFacts& facts, const StateReport& report) {
  v1::OpenSession out;
  *out.mutable_worker() = Encode(facts.self);
  out.set_world_size(facts.world_size);
  out.set_location(facts.location);
  out.set_spot(facts.spot);
  out.set_endpoint(facts.endpoint);
  out.set_offers_copies(facts.offers_copies);
  out.set_copy_of(facts.copy_of);
  out.set_read_key(ToBytes(facts.read_key));
  out.set_agent_version(TENSORHUB_VERSION);
  out.set_level(kProtocolLevel);
  out.set_gave_up_join(report.gave_up_join);
  out.set_repeats(report.repeats);
  out.set_features(v1::FEATURE_STREAMS | v1::FEATURE_RESHARDING);
  *out.mutable_group_epoch() = Encode(report.epoch);
  *out.mutable_came_in() = Encode(report.came_in);
  if (report.holding) *out.mutable_holding() = ToProto(*report.holding);
  if (report.open_fetch) *out.mutable_open_fetch() = ToProto(*report.open_fetch);
  return out;
}

v1::WorkerMessage ToProto(const SessionSend& send) {
  v1::WorkerMessage out;
  std::visit([&out](const auto& message) { Put(message, out); }, send.message);
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
  out.set_reason(ReasonOf(call.result));
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
