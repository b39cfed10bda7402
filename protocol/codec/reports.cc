// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each message is written and then read: Put and Get stand together, field by field. The messages'
// own names are in the errors.

#include "protocol/codec/reports.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/remedy.h"
#include "common/text.h"
#include "protocol/codec/field_checks.h"
#include "protocol/codec/fields.h"

namespace tensorhub::protocol {
namespace {

void Put(const Heartbeat& said, v1::WorkerMessage& message) {
  message.mutable_heartbeat()->set_abandoned_join_op(said.abandoned_join_op);
  message.mutable_heartbeat()->set_stalled_ms(Unsigned(said.stalled_ms));
}
Heartbeat Get(FieldChecks& check, const v1::Heartbeat& in) {
  return {in.abandoned_join_op(), check.Time(in.stalled_ms())};
}

void Put(const Progress& said, v1::WorkerMessage& message) {
  v1::Progress& out = *message.mutable_progress();
  out.set_publication(IdBytes(said.publication));
  out.set_generation(said.generation);
  out.set_valid_chunks(said.valid_chunks);
  out.set_way(ReadableText(said.way, kWayBytesMax));
}
Progress Get(FieldChecks& check, const v1::Progress& in) {
  check.SetPrefix("progress.");
  return {check.Id(in.publication(), "publication"), check.GenerationOf(in.generation()),
          check.ChunkCount(in.valid_chunks()), ReadableText(in.way(), kWayBytesMax)};
}

void Put(const SourceReleased& said, v1::WorkerMessage& message) {
  message.mutable_source_released()->set_transaction(IdBytes(said.transaction));
  message.mutable_source_released()->set_assignment(said.assignment);
}
SourceReleased Get(FieldChecks& check, const v1::SourceReleased& in) {
  check.SetPrefix("source_released.");
  return {check.Id(in.transaction(), "transaction"), check.Positive(in.assignment(), "assignment")};
}

void Put(const SourceFailed& said, v1::WorkerMessage& message) {
  v1::SourceFailed& out = *message.mutable_source_failed();
  out.set_transaction(IdBytes(said.transaction));
  out.set_assignment(said.assignment);
  out.set_code(StatusCodeToWire(said.reason));
  out.set_reason(ReasonText(said.reason));
  out.set_outage(IsOutage(said.reason));
}
SourceFailed Get(FieldChecks& check, const v1::SourceFailed& in) {
  check.SetPrefix("source_failed.");
  check.Require(in.code() != 0, "code", "is OK; a failure has another code");
  return {check.Id(in.transaction(), "transaction"), check.Positive(in.assignment(), "assignment"),
          AsOutage(check.Result(in.code(), in.reason()), in.outage())};
}

void Put(const SourceSilent& said, v1::WorkerMessage& message) {
  message.mutable_source_silent()->set_transaction(IdBytes(said.transaction));
  message.mutable_source_silent()->set_assignment(said.assignment);
}
SourceSilent Get(FieldChecks& check, const v1::SourceSilent& in) {
  check.SetPrefix("source_silent.");
  return {check.Id(in.transaction(), "transaction"), check.Positive(in.assignment(), "assignment")};
}

void Put(const ProbeAnswer& said, v1::WorkerMessage& message) {
  v1::ProbeAnswer& out = *message.mutable_probe_answer();
  out.set_generation(said.generation);
  out.set_holds(said.holds);
  out.set_verified(said.verified);
}
ProbeAnswer Get(FieldChecks& check, const v1::ProbeAnswer& in) {
  check.SetPrefix("probe_answer.");
  return {check.GenerationOf(in.generation()), in.holds(), in.verified()};
}

void Put(const ContentHashed& said, v1::WorkerMessage& message) {
  v1::ContentHashed& out = *message.mutable_content_hashed();
  out.set_publication(IdBytes(said.publication));
  out.set_generation(said.generation);
  out.set_digest(IdBytes(said.digest));
}
ContentHashed Get(FieldChecks& check, const v1::ContentHashed& in) {
  check.SetPrefix("content_hashed.");
  return {check.Id(in.publication(), "publication"), check.GenerationOf(in.generation()),
          check.Id(in.digest(), "digest")};
}

void Put(const CopyFailed& said, v1::WorkerMessage& message) {
  v1::CopyFailed& out = *message.mutable_copy_failed();
  out.set_version(said.version);
  out.set_code(StatusCodeToWire(said.reason));
  out.set_reason(ReasonText(said.reason));
}
CopyFailed Get(FieldChecks& check, const v1::CopyFailed& in) {
  check.SetPrefix("copy_failed.");
  check.Require(in.code() != 0, "code", "is OK; a failure has another code");
  return {in.version(), check.Result(in.code(), in.reason())};
}

void Put(const BoxesHashed& said, v1::WorkerMessage& message) {
  v1::BoxesHashed& out = *message.mutable_boxes_hashed();
  out.set_generation(said.generation);
  out.set_question(said.question);
  for (const uint64_t digest : said.digests) out.add_digests(digest);
}
BoxesHashed Get(FieldChecks& check, const v1::BoxesHashed& in) {
  check.SetPrefix("boxes_hashed.");
  const auto count = static_cast<size_t>(in.digests_size());
  check.Require(count > 0 && count <= kAskedBoxesMax, "digests",
                absl::StrCat("are ", count, ", not 1..", kAskedBoxesMax));
  return {check.GenerationOf(in.generation()),
          check.Positive(in.question(), "question"),
          {in.digests().begin(), in.digests().end()}};
}

}  // namespace

v1::WorkerMessage Encode(const WorkerMessage& message) {
  v1::WorkerMessage out;
  std::visit([&out](const auto& said) { Put(said, out); }, message);
  return out;
}

absl::StatusOr<WorkerMessage> Decode(const v1::WorkerMessage& message) {
  FieldChecks check;
  const auto read = [&check](const auto& in) {
    WorkerMessage out = Get(check, in);  // before what it has found is taken
    return check.Take(std::move(out));
  };
  switch (message.body_case()) {
    case v1::WorkerMessage::kHeartbeat:
      return read(message.heartbeat());
    case v1::WorkerMessage::kProgress:
      return read(message.progress());
    case v1::WorkerMessage::kSourceReleased:
      return read(message.source_released());
    case v1::WorkerMessage::kSourceFailed:
      return read(message.source_failed());
    case v1::WorkerMessage::kSourceSilent:
      return read(message.source_silent());
    case v1::WorkerMessage::kProbeAnswer:
      return read(message.probe_answer());
    case v1::WorkerMessage::kContentHashed:
      return read(message.content_hashed());
    case v1::WorkerMessage::kBoxesHashed:
      return read(message.boxes_hashed());
    case v1::WorkerMessage::kCopyFailed:
      return read(message.copy_failed());
    case v1::WorkerMessage::kOpen:
      return absl::InvalidArgumentError("open: this session is open already");
    case v1::WorkerMessage::BODY_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("body: the message is empty or of an unknown kind");
}

}  // namespace tensorhub::protocol
