// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The core's effects as messages.

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "common/remedy.h"
#include "server/rpc/translate.h"

namespace tensorhub::rpc {
namespace {

void Fill(const GroupEpoch& epoch, pb::GroupEpoch& out) {
  out.set_life(epoch.life);
  out.set_count(epoch.count);
}

void Fill(const Term& term, pb::Term& out) {
  out.set_number(term.number);
  out.set_since(term.since);
}

void Fill(const hub::Welcome& welcome, const ServerIdentity& identity, pb::HubMessage& message) {
  pb::Welcome& out = *message.mutable_welcome();
  out.set_lease_ms(static_cast<uint64_t>(welcome.lease_ms));
  out.set_heartbeat_ms(static_cast<uint64_t>(welcome.heartbeat_ms));
  out.set_wants_documents(welcome.wants_documents);
  out.set_store_id(IdBytes(identity.store_id));
  out.set_epoch(identity.epoch);
  out.set_server_version(TENSORHUB_VERSION);
  Fill(welcome.epoch, *out.mutable_group_epoch());
  out.set_hears_content(true);
  out.set_term(welcome.term);
  if (welcome.adopts) out.set_adopts(IdBytes(welcome.adopts));
  out.set_guards_reads(welcome.guards_reads);
}

void Fill(const hub::Assign& assign, const ServerIdentity&, pb::HubMessage& message) {
  pb::Assign& out = *message.mutable_assign();
  out.set_transaction(IdBytes(assign.transaction));
  out.set_assignment(assign.assignment);
  ToProto(assign.source, *out.mutable_source());
  out.set_endpoint(assign.endpoint);
  out.set_generation(assign.generation);
  out.set_publication(IdBytes(assign.publication));
  out.set_tier(static_cast<uint32_t>(assign.tier));
  out.set_progress_ms(static_cast<uint64_t>(assign.progress_ms));
  out.set_digest(IdBytes(assign.digest));
  out.set_plan(assign.plan);
  out.set_part(assign.part);
  out.set_ranges(assign.ranges);
  out.set_parts(assign.parts);
  out.set_capability(ToBytes(assign.capability));
}

void Fill(const hub::EndStream& end, const ServerIdentity&, pb::HubMessage& message) {
  message.mutable_end_stream()->set_transaction(IdBytes(end.transaction));
  message.mutable_end_stream()->set_assignment(end.assignment);
}

void Fill(const hub::SourceSharding& sharding, const ServerIdentity&, pb::HubMessage& message) {
  pb::SourceSharding& out = *message.mutable_source_sharding();
  out.set_transaction(IdBytes(sharding.transaction));
  out.set_plan(sharding.plan);
  out.set_world_size(sharding.world_size);
  out.set_chunk_bytes(sharding.chunk_bytes);
  for (const hub::SourceSharding::Part& part : sharding.parts) {
    pb::SourcePart& to = *out.add_parts();
    to.set_rank(part.rank);
    to.set_layout(IdBytes(part.layout));
  }
}

void Fill(const hub::AbortRead& abort, const ServerIdentity&, pb::HubMessage& message) {
  pb::AbortRead& out = *message.mutable_abort_read();
  out.set_transaction(IdBytes(abort.transaction));
  out.set_code(StatusCodeToWire(abort.reason));
  out.set_reason(std::string(abort.reason.message()));
  out.set_outage(IsOutage(abort.reason));
}

void Fill(const hub::Probe& probe, const ServerIdentity&, pb::HubMessage& message) {
  message.mutable_probe()->set_generation(probe.generation);
  message.mutable_probe()->set_verify(probe.verify);
}

void Fill(const hub::Dropped& dropped, const ServerIdentity&, pb::HubMessage& message) {
  pb::Dropped& out = *message.mutable_dropped();
  out.set_generation(dropped.generation);
  out.set_code(StatusCodeToWire(dropped.reason));
  out.set_reason(std::string(dropped.reason.message()));
}

void Fill(const hub::Visible& visible, const ServerIdentity&, pb::HubMessage& message) {
  message.mutable_visible()->set_publication(IdBytes(visible.publication));
}

void Fill(const hub::Superseded& superseded, const ServerIdentity&, pb::HubMessage& message) {
  pb::Superseded& out = *message.mutable_superseded();
  out.set_publication(IdBytes(superseded.publication));
  out.set_code(StatusCodeToWire(superseded.reason));
  out.set_reason(std::string(superseded.reason.message()));
}

void Fill(const hub::GroupChanged& changed, const ServerIdentity&, pb::HubMessage& message) {
  Fill(changed.epoch, *message.mutable_group_changed()->mutable_group_epoch());
}

void Fill(const hub::MakeCopy& make, const ServerIdentity&, pb::HubMessage& message) {
  message.mutable_make_copy()->set_publication(IdBytes(make.publication));
  message.mutable_make_copy()->set_version(make.version);
  message.mutable_make_copy()->set_within_ms(static_cast<uint64_t>(make.within_ms));
}

void Fill(const hub::ReleaseCopy& release, const ServerIdentity&, pb::HubMessage& message) {
  message.mutable_release_copy()->set_generation(release.generation);
}

absl::Status WrongPayload(const hub::Reply& reply) {
  return absl::InternalError(absl::StrCat("the hub's reply is of the wrong kind (",
                                          reply.payload.index(), "): please report this"));
}

template <typename Payload, typename Copy>
absl::Status FillFrom(const hub::Reply& reply, Copy copy) {
  const auto* payload = std::get_if<Payload>(&reply.payload);
  if (payload == nullptr) return WrongPayload(reply);
  copy(*payload);
  return absl::OkStatus();
}

}  // namespace

std::string IdBytes(const Id128& id) { return id ? ToBytes(id) : std::string(); }

void ToProto(const WorkerIdentity& worker, pb::WorkerId& out) {
  out.set_model(worker.key.model);
  out.set_group(worker.key.group);
  out.set_rank(worker.key.rank);
  out.set_incarnation(worker.incarnation);
}

pb::HubMessage ToProto(const hub::Directive& directive, const ServerIdentity& identity) {
  pb::HubMessage message;
  std::visit([&](const auto& body) { Fill(body, identity, message); }, directive.body);
  return message;
}

bool IsAnswer(const hub::Reply& reply) {
  return reply.status.ok() || std::holds_alternative<hub::FinishReadReply>(reply.payload);
}

absl::Status FillResponse(const hub::Reply& reply, pb::PublishResponse& response) {
  return FillFrom<hub::PublishReply>(reply, [&](const hub::PublishReply& payload) {
    response.set_publication(IdBytes(payload.publication));
    response.set_chunk_bytes(payload.chunk_bytes);
    response.set_visible(payload.visible);
    Fill(payload.epoch, *response.mutable_group_epoch());
    Fill(payload.term, *response.mutable_term());
    response.set_compare(payload.compare);
    if (payload.with.holder.incarnation == 0) return;
    ToProto(payload.with.holder, *response.mutable_holder());
    response.set_holder_endpoint(payload.with.endpoint);
    response.set_holder_generation(payload.with.generation);
    response.set_holder_capability(ToBytes(payload.with.capability));
  });
}

absl::Status FillResponse(const hub::Reply& reply, pb::UnpublishResponse& response) {
  return FillFrom<hub::UnpublishReply>(reply, [&](const hub::UnpublishReply& payload) {
    response.set_drained(payload.drained);
    response.set_readers_left(payload.readers_left);
    response.set_begun(payload.begun);
  });
}

absl::Status FillResponse(const hub::Reply& reply, pb::JoinFetchResponse& response) {
  return FillFrom<hub::FetchDecision>(reply, [&](const hub::FetchDecision& payload) {
    response.set_transaction(IdBytes(payload.transaction));
    response.set_publication(IdBytes(payload.publication));
    response.set_version(payload.version);
    response.set_world_size(payload.world_size);
    response.set_chunk_bytes(payload.chunk_bytes);
    response.set_attachment(IdBytes(payload.attachment));
    response.set_already_held(payload.already_held);
    Fill(payload.term, *response.mutable_term());
    response.set_sharding(IdBytes(payload.sharding.id));
    response.set_full(payload.sharding.full);
  });
}

absl::Status FillResponse(const hub::Reply& reply, pb::FinishReadResponse& response) {
  return FillFrom<hub::FinishReadReply>(reply, [&](const hub::FinishReadReply& payload) {
    response.set_version(payload.version);
    response.set_code(StatusCodeToWire(reply.status));
    response.set_reason(std::string(reply.status.message()));
    response.set_identity(IdBytes(payload.identity));
    response.set_outage(IsOutage(reply.status));
  });
}

absl::Status FillResponse(const hub::Reply& reply, pb::WaitForVersionResponse& response) {
  return FillFrom<hub::WaitReply>(
      reply, [&](const hub::WaitReply& payload) { response.set_version(payload.version); });
}

absl::Status FillResponse(const hub::Reply& reply, pb::DrainResponse& response) {
  return FillFrom<hub::DrainReply>(reply, [&](const hub::DrainReply& payload) {
    response.set_readers(payload.readers);
    if (payload.holds) response.set_version(*payload.holds);
    response.set_alone(payload.alone);
    for (const std::string& why : payload.wanted) response.add_wanted(why);
    response.set_copier(payload.copier);
    response.set_no_copy(payload.no_copy);
  });
}

absl::Status FillResponse(const hub::Reply&, pb::BeginReadResponse&) { return absl::OkStatus(); }
absl::Status FillResponse(const hub::Reply&, pb::LeaveResponse&) { return absl::OkStatus(); }
absl::Status FillResponse(const hub::Reply&, pb::PutLayoutResponse&) { return absl::OkStatus(); }
absl::Status FillResponse(const hub::Reply&, pb::PutAttachmentResponse&) {
  return absl::OkStatus();
}
absl::Status FillResponse(const hub::Reply&, pb::RetainResponse&) { return absl::OkStatus(); }
absl::Status FillResponse(const hub::Reply&, pb::PinResponse&) { return absl::OkStatus(); }
absl::Status FillResponse(const hub::Reply&, pb::UnpinResponse&) { return absl::OkStatus(); }
absl::Status FillResponse(const hub::Reply&, pb::SupersedeResponse&) { return absl::OkStatus(); }
absl::Status FillResponse(const hub::Reply&, pb::AdoptResponse&) { return absl::OkStatus(); }
absl::Status FillResponse(const hub::Reply&, pb::RewindResponse&) { return absl::OkStatus(); }

}  // namespace tensorhub::rpc
