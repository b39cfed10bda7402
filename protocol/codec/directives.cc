// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each message is written and then read: Put and Get stand together, field by field.

#include "protocol/codec/directives.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/remedy.h"
#include "protocol/codec/fields.h"

namespace tensorhub::protocol {
namespace {

// What is longer is not believed: a hub that hears nothing for a lease takes a worker for dead.
constexpr uint64_t kProgressMsMax = 10'000;
constexpr uint64_t kCopyMsMax = 600'000;
constexpr uint64_t kLeaseMsMax = 3'600'000;

// 0: a hub that does not speak of that time.
TimeMs TimeOr(uint64_t ms, uint64_t max, TimeMs otherwise) {
  return ms == 0 ? otherwise : static_cast<TimeMs>(std::min(ms, max));
}

template <typename Message>
void PutReason(const absl::Status& reason, Message& out) {
  out.set_code(StatusCodeToWire(reason));
  out.set_reason(std::string(reason.message()));
}

void Put(const Welcome& welcome, v1::HubMessage& message) {
  v1::Welcome& out = *message.mutable_welcome();
  out.set_lease_ms(Unsigned(welcome.lease_ms));
  out.set_heartbeat_ms(Unsigned(welcome.heartbeat_ms));
  out.set_wants_documents(welcome.wants_documents);
  *out.mutable_group_epoch() = Encode(welcome.epoch);
  out.set_term(welcome.term);
  out.set_adopts(IdBytes(welcome.adopts));
  out.set_guards_reads(welcome.guards_reads);
  out.set_hears_content(!welcome.refuses_content);
  out.set_store_id(IdBytes(welcome.store));
  out.set_epoch(welcome.hub_epoch);
  out.set_server_version(welcome.server_version);
}
Welcome Get(HubFields& fields, const v1::Welcome& in) {
  const Welcome usual;
  return {.lease_ms = TimeOr(in.lease_ms(), kLeaseMsMax, usual.lease_ms),
          .heartbeat_ms = TimeOr(in.heartbeat_ms(), kLeaseMsMax, usual.heartbeat_ms),
          .wants_documents = in.wants_documents(),
          .epoch = Decode(in.group_epoch()),
          .term = in.term(),
          .adopts = fields.IdOrNone(in.adopts(), "Welcome.adopts"),
          .guards_reads = in.guards_reads(),
          .refuses_content = !in.hears_content(),
          .store = fields.IdOrNone(in.store_id(), "Welcome.store_id"),
          .hub_epoch = in.epoch(),
          .server_version = in.server_version()};
}

void Put(const GroupChanged& changed, v1::HubMessage& message) {
  *message.mutable_group_changed()->mutable_group_epoch() = Encode(changed.epoch);
}
GroupChanged Get(HubFields&, const v1::GroupChanged& in) { return {Decode(in.group_epoch())}; }

void Put(const Assign& assign, v1::HubMessage& message) {
  v1::Assign& out = *message.mutable_assign();
  out.set_transaction(IdBytes(assign.transaction));
  out.set_assignment(assign.assignment);
  *out.mutable_source() = Encode(assign.source);
  out.set_endpoint(assign.endpoint);
  out.set_generation(assign.generation);
  out.set_publication(IdBytes(assign.publication));
  out.set_tier(static_cast<uint32_t>(assign.tier));
  out.set_progress_ms(Unsigned(assign.progress_ms));
  out.set_digest(IdBytes(assign.digest));
  out.set_plan(assign.plan);
  out.set_part(assign.part);
  out.set_ranges(assign.ranges);
  out.set_parts(assign.parts);
  out.set_capability(ToBytes(assign.capability));
}
Assign Get(HubFields& fields, const v1::Assign& in) {
  Assign out;
  out.transaction = fields.Id(in.transaction(), "Assign.transaction");
  out.assignment = in.assignment();
  out.source = Decode(in.source());
  out.endpoint = in.endpoint();
  out.generation = in.generation();
  out.publication = fields.Id(in.publication(), "Assign.publication");
  out.progress_ms = TimeOr(in.progress_ms(), kProgressMsMax, out.progress_ms);
  out.digest = fields.IdOrNone(in.digest(), "Assign.digest");
  out.capability = fields.CapabilityOrNone(in.capability(), "Assign.capability");
  fields.Require(in.tier() <= static_cast<uint32_t>(Tier::kRemote), "Assign.tier");
  out.tier = static_cast<Tier>(in.tier());
  out.plan = in.plan();
  fields.Require(in.part() < kReadStreamsMax, "Assign.part");
  out.part = in.part();
  out.ranges = in.ranges();
  fields.Require(in.ranges() || !in.parts(), "Assign.parts");
  out.parts = in.parts();
  return out;
}

void Put(const AbortRead& abort, v1::HubMessage& message) {
  v1::AbortRead& out = *message.mutable_abort_read();
  out.set_transaction(IdBytes(abort.transaction));
  PutReason(abort.reason, out);
  out.set_outage(IsOutage(abort.reason));
}
AbortRead Get(HubFields& fields, const v1::AbortRead& in) {
  return {fields.Id(in.transaction(), "AbortRead.transaction"),
          AsOutage(DecodeReason(in.code(), in.reason()), in.outage())};
}

void Put(const Probe& probe, v1::HubMessage& message) {
  message.mutable_probe()->set_generation(probe.generation);
  message.mutable_probe()->set_verify(probe.verify);
}
Probe Get(HubFields&, const v1::Probe& in) { return {in.generation(), in.verify()}; }

void Put(const Dropped& dropped, v1::HubMessage& message) {
  message.mutable_dropped()->set_generation(dropped.generation);
  PutReason(dropped.reason, *message.mutable_dropped());
}
Dropped Get(HubFields&, const v1::Dropped& in) {
  return {in.generation(), DecodeReason(in.code(), in.reason())};
}

void Put(const Visible& visible, v1::HubMessage& message) {
  message.mutable_visible()->set_publication(IdBytes(visible.publication));
}
Visible Get(HubFields& fields, const v1::Visible& in) {
  return {fields.Id(in.publication(), "Visible.publication")};
}

void Put(const Superseded& superseded, v1::HubMessage& message) {
  message.mutable_superseded()->set_publication(IdBytes(superseded.publication));
  PutReason(superseded.reason, *message.mutable_superseded());
}
Superseded Get(HubFields& fields, const v1::Superseded& in) {
  return {fields.Id(in.publication(), "Superseded.publication"),
          DecodeReason(in.code(), in.reason())};
}

void Put(const MakeCopy& make, v1::HubMessage& message) {
  message.mutable_make_copy()->set_publication(IdBytes(make.publication));
  message.mutable_make_copy()->set_version(make.version);
  message.mutable_make_copy()->set_within_ms(Unsigned(make.within_ms));
}
MakeCopy Get(HubFields& fields, const v1::MakeCopy& in) {
  return {fields.Id(in.publication(), "MakeCopy.publication"), in.version(),
          TimeOr(in.within_ms(), kCopyMsMax, MakeCopy().within_ms)};
}

void Put(const ReleaseCopy& release, v1::HubMessage& message) {
  message.mutable_release_copy()->set_generation(release.generation);
}
ReleaseCopy Get(HubFields&, const v1::ReleaseCopy& in) { return {in.generation()}; }

void Put(const EndStream& end, v1::HubMessage& message) {
  message.mutable_end_stream()->set_transaction(IdBytes(end.transaction));
  message.mutable_end_stream()->set_assignment(end.assignment);
}
EndStream Get(HubFields& fields, const v1::EndStream& in) {
  return {fields.Id(in.transaction(), "EndStream.transaction"), in.assignment()};
}

void Put(const SourceSharding& sharding, v1::HubMessage& message) {
  v1::SourceSharding& out = *message.mutable_source_sharding();
  out.set_transaction(IdBytes(sharding.transaction));
  out.set_plan(sharding.plan);
  out.set_world_size(sharding.world_size);
  out.set_chunk_bytes(sharding.chunk_bytes);
  for (const SourceSharding::Part& part : sharding.parts) {
    v1::SourcePart& to = *out.add_parts();
    to.set_rank(part.rank);
    to.set_layout(IdBytes(part.layout));
  }
}
SourceSharding Get(HubFields& fields, const v1::SourceSharding& in) {
  SourceSharding out;
  out.transaction = fields.Id(in.transaction(), "SourceSharding.transaction");
  out.plan = in.plan();
  const auto parts = static_cast<size_t>(in.parts_size());
  fields.Require(parts > 0 && parts <= kReadStreamsMax, "SourceSharding.parts");
  const bool has_world = in.world_size() > 0 && in.world_size() <= kWorldSizeMax;
  fields.Require(has_world, "SourceSharding.world_size");
  out.world_size = in.world_size();
  out.chunk_bytes = in.chunk_bytes();
  for (const v1::SourcePart& part : in.parts()) {
    out.parts.push_back({part.rank(), fields.Id(part.layout(), "SourceSharding.parts.layout")});
  }
  return out;
}

void Put(const HashBoxes& hash, v1::HubMessage& message) {
  v1::HashBoxes& out = *message.mutable_hash_boxes();
  out.set_generation(hash.generation);
  out.set_question(hash.question);
  for (const HashBoxes::Range& box : hash.boxes) {
    out.add_begins(box.begin);
    out.add_bytes(box.bytes);
  }
}
HashBoxes Get(HubFields& fields, const v1::HashBoxes& in) {
  HashBoxes out{in.generation(), in.question(), {}};
  const bool even = in.begins_size() == in.bytes_size();
  const bool few = static_cast<size_t>(in.begins_size()) <= kAskedBoxesMax;
  fields.Require(even && few && in.begins_size() > 0, "HashBoxes.begins");
  for (int i = 0; even && few && i < in.begins_size(); ++i) {
    out.boxes.push_back({in.begins(i), in.bytes(i)});
  }
  return out;
}

}  // namespace

v1::HubMessage Encode(const HubMessage& message) {
  v1::HubMessage out;
  std::visit([&out](const auto& body) { Put(body, out); }, message);
  return out;
}

absl::StatusOr<std::optional<HubMessage>> Decode(const v1::HubMessage& message) {
  HubFields fields;
  const auto read = [&fields](const auto& in) {
    auto out = Get(fields, in);  // before what it has found is taken
    return fields.Take<std::optional<HubMessage>>(HubMessage(std::move(out)));
  };
  switch (message.body_case()) {
    case v1::HubMessage::kWelcome:
      return read(message.welcome());
    case v1::HubMessage::kGroupChanged:
      return read(message.group_changed());
    case v1::HubMessage::kAssign:
      return read(message.assign());
    case v1::HubMessage::kAbortRead:
      return read(message.abort_read());
    case v1::HubMessage::kProbe:
      return read(message.probe());
    case v1::HubMessage::kDropped:
      return read(message.dropped());
    case v1::HubMessage::kVisible:
      return read(message.visible());
    case v1::HubMessage::kSuperseded:
      return read(message.superseded());
    case v1::HubMessage::kMakeCopy:
      return read(message.make_copy());
    case v1::HubMessage::kReleaseCopy:
      return read(message.release_copy());
    case v1::HubMessage::kEndStream:
      return read(message.end_stream());
    case v1::HubMessage::kSourceSharding:
      return read(message.source_sharding());
    case v1::HubMessage::kHashBoxes:
      return read(message.hash_boxes());
    case v1::HubMessage::BODY_NOT_SET:
      break;
  }
  return std::optional<HubMessage>();
}

}  // namespace tensorhub::protocol
