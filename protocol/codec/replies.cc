// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each reply is written and then read.

#include <string>
#include <utility>

#include "common/grpc_status.h"
#include "common/remedy.h"
#include "protocol/codec/calls.h"
#include "protocol/codec/fields.h"

namespace tensorhub::protocol {

v1::PublishResponse Encode(const PublishReply& reply) {
  v1::PublishResponse out;
  out.set_publication(IdBytes(reply.publication));
  out.set_chunk_bytes(reply.chunk_bytes);
  out.set_visible(reply.visible);
  *out.mutable_group_epoch() = Encode(reply.epoch);
  *out.mutable_term() = Encode(reply.term);
  out.set_compare(reply.compare);
  if (reply.with.holder.incarnation == 0) return out;
  *out.mutable_holder() = Encode(reply.with.holder);
  out.set_holder_endpoint(reply.with.endpoint);
  out.set_holder_generation(reply.with.generation);
  out.set_holder_capability(ToBytes(reply.with.capability));
  return out;
}
absl::StatusOr<PublishReply> Decode(const v1::PublishResponse& response) {
  HubFields fields;
  PublishReply out;
  out.publication = fields.Id(response.publication(), "PublishResponse.publication");
  out.chunk_bytes = response.chunk_bytes();
  out.visible = response.visible();
  out.epoch = Decode(response.group_epoch());
  out.term = Decode(response.term());
  out.compare = response.compare();
  out.with.holder = Decode(response.holder());
  out.with.endpoint = response.holder_endpoint();
  out.with.generation = response.holder_generation();
  out.with.capability =
      fields.CapabilityOrNone(response.holder_capability(), "PublishResponse.holder_capability");
  return fields.Take<PublishReply>(std::move(out));
}

v1::UnpublishResponse Encode(const UnpublishReply& reply) {
  v1::UnpublishResponse out;
  out.set_drained(reply.drained);
  out.set_readers_left(reply.readers_left);
  out.set_begun(reply.begun);
  return out;
}
absl::StatusOr<UnpublishReply> Decode(const v1::UnpublishResponse& response) {
  return UnpublishReply{response.drained(), response.readers_left(), response.begun()};
}

v1::JoinFetchResponse Encode(const FetchDecision& reply) {
  v1::JoinFetchResponse out;
  out.set_transaction(IdBytes(reply.transaction));
  out.set_publication(IdBytes(reply.publication));
  out.set_version(reply.version);
  out.set_world_size(reply.world_size);
  out.set_chunk_bytes(reply.chunk_bytes);
  out.set_attachment(IdBytes(reply.attachment));
  *out.mutable_term() = Encode(reply.term);
  out.set_already_held(reply.already_held);
  out.set_sharding(IdBytes(reply.sharding.id));
  out.set_full(reply.sharding.full);
  return out;
}
absl::StatusOr<FetchDecision> Decode(const v1::JoinFetchResponse& response) {
  HubFields fields;
  FetchDecision out;
  out.transaction = fields.Id(response.transaction(), "JoinFetchResponse.transaction");
  out.publication = fields.Id(response.publication(), "JoinFetchResponse.publication");
  out.version = response.version();
  out.world_size = response.world_size();
  out.chunk_bytes = response.chunk_bytes();
  out.attachment = fields.IdOrNone(response.attachment(), "JoinFetchResponse.attachment");
  out.term = Decode(response.term());
  out.already_held = response.already_held();
  out.sharding.id = fields.IdOrNone(response.sharding(), "JoinFetchResponse.sharding");
  out.sharding.full = response.full();
  return fields.Take<FetchDecision>(std::move(out));
}

v1::FinishReadResponse Encode(const FinishReadReply& reply, const absl::Status& outcome) {
  v1::FinishReadResponse out;
  out.set_version(reply.version);
  out.set_identity(IdBytes(reply.identity));
  out.set_code(StatusCodeToWire(outcome));
  out.set_reason(std::string(outcome.message()));
  out.set_outage(IsOutage(outcome));
  return out;
}
absl::StatusOr<FinishReadReply> Decode(const v1::FinishReadResponse& response) {
  HubFields fields;
  FinishReadReply out{response.version(),
                      fields.IdOrNone(response.identity(), "FinishReadResponse.identity")};
  return fields.Take<FinishReadReply>(out);
}
absl::Status OutcomeOf(const v1::FinishReadResponse& response) {
  return AsOutage(StatusFromWire(response.code(), response.reason()), response.outage());
}

}  // namespace tensorhub::protocol
