// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each request is written and then read.

#include "protocol/codec/calls.h"

#include <string>
#include <utility>

#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/remedy.h"
#include "common/text.h"
#include "protocol/codec/field_checks.h"
#include "protocol/codec/fields.h"

namespace tensorhub::protocol {
namespace {

// Fills a ReadStart, or a request that has its fields.
template <typename Message>
void PutReadStart(const BeginRead& call, Message& out) {
  out.set_transaction(IdBytes(call.transaction));
  out.set_generation(call.generation);
  out.set_medium(call.medium);
}
template <typename Message>
BeginRead GetReadStart(FieldChecks& check, const Message& in) {
  return {check.Id(in.transaction(), "transaction"), check.GenerationOf(in.generation()),
          ReadableText(in.medium(), kMediumBytesMax)};
}

void PutSelector(const VersionSelector& selector, v1::Selector& out) {
  switch (selector.kind) {
    case VersionSelector::Kind::kLatest:
      return out.set_latest(true);
    case VersionSelector::Kind::kExact:
      return out.set_exact(selector.version);
    case VersionSelector::Kind::kNewerThan:
      return out.set_newer_than(selector.version);
    case VersionSelector::Kind::kAny:
      out.set_newer_than(0);
      return out.set_any(true);
  }
}

}  // namespace

v1::PublishRequest Encode(const Publish& call) {
  v1::PublishRequest out;
  out.set_version(call.version);
  out.set_layout(IdBytes(call.layout));
  out.set_attachment(IdBytes(call.attachment));
  out.set_chunk_bytes(call.chunk_bytes);
  out.set_generation(call.generation);
  out.set_wait_for_group(call.wait_for_group);
  out.set_supersede(call.supersede);
  if (call.knows_term) out.set_knows_term(*call.knows_term);
  out.set_timeout_ms(Unsigned(call.timeout_ms));
  out.set_medium(call.medium);
  out.set_hashes(call.hashes);
  out.set_digest(IdBytes(call.digest));
  out.set_compared(IdBytes(call.compared));
  return out;
}
absl::StatusOr<Publish> Decode(const v1::PublishRequest& request) {
  FieldChecks check;
  Publish out;
  out.version = request.version();
  out.layout = check.Id(request.layout(), "layout");
  out.attachment = check.IdOrNone(request.attachment(), "attachment");
  out.chunk_bytes = check.ChunkBytes(request.chunk_bytes());
  out.generation = check.GenerationOf(request.generation());
  out.wait_for_group = request.wait_for_group();
  out.supersede = request.supersede();
  if (request.has_knows_term()) out.knows_term = request.knows_term();
  out.timeout_ms = check.Time(request.timeout_ms());
  out.medium = ReadableText(request.medium(), kMediumBytesMax);
  out.hashes = request.hashes();
  out.digest = check.IdOrNone(request.digest(), "digest");
  out.compared = check.IdOrNone(request.compared(), "compared");
  return check.Take(std::move(out));
}

v1::UnpublishRequest Encode(const Unpublish& call) {
  v1::UnpublishRequest out;
  out.set_generation(call.generation);
  out.set_drain_ms(Unsigned(call.drain_ms));
  out.set_leaving(call.leaving);
  out.set_force(call.force);
  if (call.then_read) PutReadStart(*call.then_read, *out.mutable_then_read());
  return out;
}
absl::StatusOr<Unpublish> Decode(const v1::UnpublishRequest& request) {
  FieldChecks check;
  Unpublish out;
  out.generation = check.GenerationOf(request.generation());
  out.drain_ms = check.Time(request.drain_ms());
  out.leaving = request.leaving();
  out.force = request.force();
  if (request.has_then_read()) {
    check.SetPrefix("then_read.");
    out.then_read = GetReadStart(check, request.then_read());
    check.SetPrefix("");
  }
  return check.Take(std::move(out));
}

v1::JoinFetchRequest Encode(const JoinFetch& call) {
  v1::JoinFetchRequest out;
  PutSelector(call.selector, *out.mutable_selector());
  out.set_layout(IdBytes(call.layout));
  out.set_timeout_ms(Unsigned(call.timeout_ms));
  if (call.held_in) out.set_held_in(*call.held_in);
  out.set_whole(call.whole);
  return out;
}
absl::StatusOr<JoinFetch> Decode(const v1::JoinFetchRequest& request) {
  FieldChecks check;
  JoinFetch out;
  out.selector = check.SelectorOf(request.has_selector(), request.selector());
  out.layout = check.Id(request.layout(), "layout");
  out.timeout_ms = check.Time(request.timeout_ms());
  if (request.has_held_in()) out.held_in = request.held_in();
  out.whole = request.whole();
  return check.Take(std::move(out));
}

v1::BeginReadRequest Encode(const BeginRead& call) {
  v1::BeginReadRequest out;
  PutReadStart(call, out);
  return out;
}
absl::StatusOr<BeginRead> Decode(const v1::BeginReadRequest& request) {
  FieldChecks check;
  BeginRead out = GetReadStart(check, request);
  return check.Take(std::move(out));
}

v1::FinishReadRequest Encode(const FinishRead& call) {
  v1::FinishReadRequest out;
  out.set_transaction(IdBytes(call.transaction));
  out.set_code(StatusCodeToWire(call.result));
  out.set_reason(ReasonText(call.result));
  out.set_outage(IsOutage(call.result));
  out.set_digest(IdBytes(call.digest));
  return out;
}
absl::StatusOr<FinishRead> Decode(const v1::FinishReadRequest& request) {
  FieldChecks check;
  FinishRead out;
  out.transaction = check.Id(request.transaction(), "transaction");
  out.result = AsOutage(check.Result(request.code(), request.reason()), request.outage());
  out.digest = check.IdOrNone(request.digest(), "digest");
  return check.Take(std::move(out));
}

v1::LeaveRequest Encode(const Leave&) { return {}; }
absl::StatusOr<Leave> Decode(const v1::LeaveRequest&) { return Leave(); }

}  // namespace tensorhub::protocol
