// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/hub/messages.h"

#include <algorithm>
#include <utility>

#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/protocol_level.h"
#include "common/remedy.h"
#include "common/text.h"

namespace tensorhub::agent {
namespace {

// What is longer is not believed: a hub that hears nothing for a lease takes a worker for dead.
constexpr uint64_t kProgressMsMax = 10'000;
constexpr uint64_t kCopyMsMax = 600'000;

// Absent identities are empty bytes on the wire.
std::string IdBytes(const Id128& id) { return id ? ToBytes(id) : std::string(); }

uint64_t Unsigned(TimeMs ms) { return ms > 0 ? static_cast<uint64_t>(ms) : 0; }

absl::Status BadField(const std::string& name) {
  return absl::InvalidArgumentError("the server sent a malformed " + name +
                                    "; check that its version fits this client");
}

absl::Status Read(const std::string& bytes, const std::string& name, Id128& id) {
  const std::optional<Id128> parsed = FromBytes(bytes);
  if (!parsed || !*parsed) return BadField(name);
  id = *parsed;
  return absl::OkStatus();
}

absl::Status ReadOptional(const std::string& bytes, const std::string& name, Id128& id) {
  return bytes.empty() ? absl::OkStatus() : Read(bytes, name, id);
}

absl::Status ReadOptional(const std::string& bytes, const std::string& name, Capability& out) {
  const std::optional<Capability> parsed = CapabilityFromBytes(bytes);
  if (!parsed) return BadField(name);
  out = *parsed;
  return absl::OkStatus();
}

WorkerIdentity FromProto(const v1::WorkerId& worker) {
  return {{worker.model(), worker.group(), worker.rank()}, worker.incarnation()};
}

v1::GroupEpoch ToProto(const GroupEpoch& epoch) {
  v1::GroupEpoch out;
  out.set_life(epoch.life);
  out.set_count(epoch.count);
  return out;
}

v1::Term ToProto(const Term& term) {
  v1::Term out;
  out.set_number(term.number);
  out.set_since(term.since);
  return out;
}

Term FromProto(const v1::Term& term) { return {term.number(), term.since()}; }

std::string ReasonOf(const absl::Status& status) {
  return ReadableText(std::string(status.message()), kReasonBytesMax);
}

absl::Status Reason(uint32_t code, const std::string& text) {
  // A refusal with code 0 is still one.
  return code == 0 ? absl::AbortedError(text) : StatusFromWire(code, text);
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
  *out.mutable_group_epoch() = ToProto(report.epoch);
  out.set_digest(IdBytes(report.digest));
  out.set_hashing(report.hashing);
  *out.mutable_term() = ToProto(report.term);
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
  if (report.source) *out.mutable_source() = agent::ToProto(*report.source);
  out.set_source_generation(report.source_generation);
  out.set_assignment(report.assignment);
  out.set_plan(report.plan);
  out.set_sharding(IdBytes(report.sharding.id));
  out.set_full(report.sharding.full);
  for (const OpenStreamReport& stream : report.streams) {
    v1::OpenStream& open = *out.add_streams();
    open.set_part(stream.part);
    *open.mutable_source() = agent::ToProto(stream.source);
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

absl::StatusOr<std::optional<Event>> AssignEvent(const v1::Assign& in) {
  AssignDirective out;
  absl::Status status = Read(in.transaction(), "Assign.transaction", out.transaction);
  if (status.ok()) status = Read(in.publication(), "Assign.publication", out.publication);
  if (status.ok()) status = ReadOptional(in.digest(), "Assign.digest", out.digest);
  if (status.ok()) status = ReadOptional(in.capability(), "Assign.capability", out.capability);
  if (status.ok() && in.tier() > static_cast<uint32_t>(Tier::kRemote)) {
    status = BadField("Assign.tier");
  }
  if (status.ok() && in.part() >= kReadStreamsMax) status = BadField("Assign.part");
  if (status.ok() && in.parts() && !in.ranges()) status = BadField("Assign.parts");
  if (!status.ok()) return status;
  out.assignment = in.assignment();
  out.source = FromProto(in.source());
  out.endpoint = in.endpoint();
  out.generation = in.generation();
  out.tier = static_cast<Tier>(in.tier());
  out.plan = in.plan();
  out.part = in.part();
  out.ranges = in.ranges();
  out.parts = in.parts();
  if (in.progress_ms() != 0) {
    out.progress_ms = static_cast<TimeMs>(std::min(in.progress_ms(), kProgressMsMax));
  }
  return std::optional<Event>(std::move(out));
}

absl::StatusOr<std::optional<Event>> SourceShardingEvent(const v1::SourceSharding& in) {
  SourceShardingDirective out;
  absl::Status status = Read(in.transaction(), "SourceSharding.transaction", out.transaction);
  const auto parts = static_cast<size_t>(in.parts_size());
  if (status.ok() && (parts == 0 || parts > kReadStreamsMax)) {
    status = BadField("SourceSharding.parts");
  }
  const bool has_world = in.world_size() > 0 && in.world_size() <= kWorldSizeMax;
  if (status.ok() && !has_world) status = BadField("SourceSharding.world_size");
  for (const v1::SourcePart& part : in.parts()) {
    SourceShardingDirective::Part& read = out.parts.emplace_back();
    read.rank = part.rank();
    if (status.ok()) status = Read(part.layout(), "SourceSharding.parts.layout", read.layout);
  }
  if (!status.ok()) return status;
  out.plan = in.plan();
  out.world_size = in.world_size();
  out.chunk_bytes = in.chunk_bytes();
  return std::optional<Event>(std::move(out));
}

absl::StatusOr<std::optional<Event>> EndStreamEvent(const v1::EndStream& in) {
  EndStreamDirective out;
  const absl::Status status = Read(in.transaction(), "EndStream.transaction", out.transaction);
  if (!status.ok()) return status;
  out.assignment = in.assignment();
  return std::optional<Event>(std::move(out));
}

absl::StatusOr<std::optional<Event>> AbortEvent(const v1::AbortRead& in) {
  AbortReadDirective out;
  const absl::Status status = Read(in.transaction(), "AbortRead.transaction", out.transaction);
  if (!status.ok()) return status;
  out.reason = AsOutage(Reason(in.code(), in.reason()), in.outage());
  return std::optional<Event>(std::move(out));
}

absl::StatusOr<std::optional<Event>> MakeCopyEvent(const v1::MakeCopy& in) {
  MakeCopyDirective out;
  const absl::Status status = Read(in.publication(), "MakeCopy.publication", out.publication);
  if (!status.ok()) return status;
  out.version = in.version();
  if (in.within_ms() != 0) {
    out.within_ms = static_cast<TimeMs>(std::min(in.within_ms(), kCopyMsMax));
  }
  return std::optional<Event>(out);
}

absl::StatusOr<std::optional<Event>> SupersededEvent(const v1::Superseded& in) {
  SupersededDirective out;
  const absl::Status status = Read(in.publication(), "Superseded.publication", out.publication);
  if (!status.ok()) return status;
  out.reason = Reason(in.code(), in.reason());
  return std::optional<Event>(std::move(out));
}

absl::StatusOr<std::optional<Event>> VisibleEvent(const v1::Visible& in) {
  VisibleDirective out;
  const absl::Status status = Read(in.publication(), "Visible.publication", out.publication);
  if (!status.ok()) return status;
  return std::optional<Event>(out);
}

}  // namespace

v1::WorkerId ToProto(const WorkerIdentity& worker) {
  v1::WorkerId out;
  out.set_model(worker.key.model);
  out.set_group(worker.key.group);
  out.set_rank(worker.key.rank);
  out.set_incarnation(worker.incarnation);
  return out;
}

v1::OpenSession ToProto(const WorkerFacts& facts, const StateReport& report) {
  v1::OpenSession out;
  *out.mutable_worker() = ToProto(facts.self);
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
  *out.mutable_group_epoch() = ToProto(report.epoch);
  *out.mutable_came_in() = ToProto(report.came_in);
  if (report.holding) *out.mutable_holding() = ToProto(*report.holding);
  if (report.open_fetch) *out.mutable_open_fetch() = ToProto(*report.open_fetch);
  return out;
}

v1::WorkerMessage ToProto(const SessionSend& send) {
  v1::WorkerMessage out;
  std::visit([&out](const auto& message) { Put(message, out); }, send.message);
  return out;
}

absl::StatusOr<std::optional<Event>> ToEvent(const v1::HubMessage& message) {
  switch (message.body_case()) {
    case v1::HubMessage::kAssign:
      return AssignEvent(message.assign());
    case v1::HubMessage::kAbortRead:
      return AbortEvent(message.abort_read());
    case v1::HubMessage::kProbe:
      return std::optional<Event>(
          ProbeDirective{message.probe().generation(), message.probe().verify()});
    case v1::HubMessage::kDropped:
      return std::optional<Event>(
          DroppedDirective{message.dropped().generation(),
                           Reason(message.dropped().code(), message.dropped().reason())});
    case v1::HubMessage::kVisible:
      return VisibleEvent(message.visible());
    case v1::HubMessage::kSuperseded:
      return SupersededEvent(message.superseded());
    case v1::HubMessage::kGroupChanged:
      return std::optional<Event>(
          GroupChangedDirective{FromProto(message.group_changed().group_epoch())});
    case v1::HubMessage::kMakeCopy:
      return MakeCopyEvent(message.make_copy());
    case v1::HubMessage::kReleaseCopy:
      return std::optional<Event>(ReleaseCopyDirective{message.release_copy().generation()});
    case v1::HubMessage::kEndStream:
      return EndStreamEvent(message.end_stream());
    case v1::HubMessage::kSourceSharding:
      return SourceShardingEvent(message.source_sharding());
    case v1::HubMessage::kWelcome:
    case v1::HubMessage::BODY_NOT_SET:
      break;
  }
  return std::optional<Event>();
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

GroupEpoch FromProto(const v1::GroupEpoch& epoch) { return {epoch.life(), epoch.count()}; }

absl::Status FromProto(const v1::PublishResponse& response, CallReply& reply) {
  PublishReply out;
  out.chunk_bytes = response.chunk_bytes();
  out.visible = response.visible();
  out.epoch = FromProto(response.group_epoch());
  out.term = FromProto(response.term());
  out.compare = response.compare();
  out.holder = FromProto(response.holder());
  out.endpoint = response.holder_endpoint();
  out.generation = response.holder_generation();
  absl::Status status =
      Read(response.publication(), "PublishResponse.publication", out.publication);
  if (status.ok()) {
    status = ReadOptional(response.holder_capability(), "PublishResponse.holder_capability",
                          out.capability);
  }
  if (status.ok()) reply.payload = out;
  return status;
}

absl::Status FromProto(const v1::UnpublishResponse& response, CallReply& reply) {
  reply.payload = UnpublishReply{response.readers_left(), response.begun()};
  return absl::OkStatus();
}

absl::Status FromProto(const v1::JoinFetchResponse& response, CallReply& reply) {
  FetchDecision out;
  out.version = response.version();
  out.world_size = response.world_size();
  out.chunk_bytes = response.chunk_bytes();
  out.already_held = response.already_held();
  out.term = FromProto(response.term());
  absl::Status status =
      Read(response.transaction(), "JoinFetchResponse.transaction", out.transaction);
  if (status.ok()) {
    status = Read(response.publication(), "JoinFetchResponse.publication", out.publication);
  }
  if (status.ok()) {
    status = ReadOptional(response.attachment(), "JoinFetchResponse.attachment", out.attachment);
  }
  if (status.ok()) {
    status = ReadOptional(response.sharding(), "JoinFetchResponse.sharding", out.sharding.id);
  }
  out.sharding.full = response.full();
  if (status.ok()) reply.payload = out;
  return status;
}

absl::Status FromProto(const v1::BeginReadResponse&, CallReply&) { return absl::OkStatus(); }

absl::Status FromProto(const v1::FinishReadResponse& response, CallReply& reply) {
  FinishReply out{response.version()};
  const absl::Status status =
      ReadOptional(response.identity(), "FinishReadResponse.identity", out.identity);
  if (!status.ok()) return status;
  reply.payload = out;
  return AsOutage(StatusFromWire(response.code(), response.reason()), response.outage());
}

absl::Status FromProto(const v1::LeaveResponse&, CallReply&) { return absl::OkStatus(); }

}  // namespace tensorhub::agent
