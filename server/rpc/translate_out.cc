// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The core's effects as messages.

#include "absl/strings/str_cat.h"
#include "protocol/codec/calls.h"
#include "protocol/codec/directives.h"
#include "server/rpc/translate.h"

namespace tensorhub::rpc {
namespace {

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

pb::HubMessage ToProto(const hub::Directive& directive, const ServerIdentity& identity) {
  const auto* welcome = std::get_if<hub::Welcome>(&directive.body);
  if (welcome == nullptr) return protocol::Encode(directive.body);
  hub::Welcome said = *welcome;
  said.store = identity.store_id;
  said.hub_epoch = identity.epoch;
  said.server_version = TENSORHUB_VERSION;
  return protocol::Encode(said);
}

bool IsAnswer(const hub::Reply& reply) {
  return reply.status.ok() || std::holds_alternative<hub::FinishReadReply>(reply.payload);
}

absl::Status FillResponse(const hub::Reply& reply, pb::PublishResponse& response) {
  return FillFrom<hub::PublishReply>(
      reply, [&](const hub::PublishReply& payload) { response = protocol::Encode(payload); });
}

absl::Status FillResponse(const hub::Reply& reply, pb::UnpublishResponse& response) {
  return FillFrom<hub::UnpublishReply>(
      reply, [&](const hub::UnpublishReply& payload) { response = protocol::Encode(payload); });
}

absl::Status FillResponse(const hub::Reply& reply, pb::JoinFetchResponse& response) {
  return FillFrom<hub::FetchDecision>(
      reply, [&](const hub::FetchDecision& payload) { response = protocol::Encode(payload); });
}

absl::Status FillResponse(const hub::Reply& reply, pb::FinishReadResponse& response) {
  return FillFrom<hub::FinishReadReply>(reply, [&](const hub::FinishReadReply& payload) {
    response = protocol::Encode(payload, reply.status);
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
