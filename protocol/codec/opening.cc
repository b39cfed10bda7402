// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The first message of a session. What writes a part of it is followed by what reads that.

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/protocol_level.h"
#include "common/text.h"
#include "protocol/codec/field_checks.h"
#include "protocol/codec/fields.h"
#include "protocol/codec/reports.h"

namespace tensorhub::protocol {
namespace {

// The hub counts on from what is reported.
constexpr AssignmentNumber kAssignmentMax = AssignmentNumber{1} << 40;

void PutHolding(const Holding& holding, v1::Holding& out) {
  out.set_publication(IdBytes(holding.publication));
  out.set_version(holding.version);
  out.set_world_size(holding.world_size);
  out.set_chunk_bytes(holding.chunk_bytes);
  out.set_layout(IdBytes(holding.layout));
  out.set_attachment(IdBytes(holding.attachment));
  out.set_generation(holding.generation);
  out.set_valid_chunks(holding.valid_chunks);
  out.set_complete(holding.complete);
  out.set_published(holding.published);
  out.set_visible(holding.visible);
  out.set_medium(holding.medium);
  *out.mutable_group_epoch() = Encode(holding.epoch);
  out.set_digest(IdBytes(holding.digest));
  out.set_hashing(holding.hashing);
  if (holding.term) *out.mutable_term() = Encode(*holding.term);
  out.set_sharding(IdBytes(holding.sharding.id));
  out.set_full(holding.sharding.full);
}
Holding GetHolding(FieldChecks& check, const v1::Holding& in) {
  check.SetPrefix("holding.");
  Holding out;
  out.publication = check.Id(in.publication(), "publication");
  out.version = in.version();
  out.world_size = check.WorldSize(in.world_size());
  out.chunk_bytes = check.ChunkBytes(in.chunk_bytes());
  out.layout = check.Id(in.layout(), "layout");
  out.attachment = check.IdOrNone(in.attachment(), "attachment");
  out.generation = check.GenerationOf(in.generation());
  out.valid_chunks = check.ChunkCount(in.valid_chunks());
  out.complete = in.complete();
  out.published = in.published();
  out.visible = in.visible();
  out.medium = ReadableText(in.medium(), kMediumBytesMax);
  out.epoch = Decode(in.group_epoch());
  out.digest = check.IdOrNone(in.digest(), "digest");
  out.hashing = in.hashing();
  if (in.has_term()) out.term = Decode(in.term());
  out.sharding = {check.IdOrNone(in.sharding(), "sharding"), in.full()};
  check.Require(!out.published || !out.sharding, "sharding",
                "is there, and the worker has published it; its own is meant by none");
  check.SetPrefix("");
  return out;
}

AssignmentNumber AssignmentOf(FieldChecks& check, uint64_t value) {
  const AssignmentNumber assignment = check.Positive(value, "assignment");
  check.Require(assignment <= kAssignmentMax, "assignment",
                absl::StrCat("is above ", kAssignmentMax));
  return assignment;
}

void PutStreams(const std::vector<OpenStream>& streams, v1::OpenFetch& out) {
  for (const OpenStream& stream : streams) {
    v1::OpenStream& to = *out.add_streams();
    to.set_part(stream.part);
    *to.mutable_source() = Encode(stream.source);
    to.set_source_generation(stream.generation);
    to.set_assignment(stream.assignment);
  }
}
// Streams by part, and each by an assignment of its own.
std::vector<OpenStream> GetStreams(FieldChecks& check, const v1::OpenFetch& in) {
  std::vector<OpenStream> out;
  std::set<AssignmentNumber> assignments;
  const auto count = static_cast<size_t>(in.streams_size());
  check.Require(count <= kReadStreamsMax, "streams",
                absl::StrCat("are ", count, ", more than ", kReadStreamsMax));
  if (count > kReadStreamsMax) return out;
  check.SetPrefix("open_fetch.streams.");
  for (const v1::OpenStream& stream : in.streams()) {
    check.Require(
        stream.part() < kReadStreamsMax && (out.empty() || out.back().part < stream.part()), "part",
        absl::StrCat("is ", stream.part(), "; they ascend, below ", kReadStreamsMax));
    out.push_back({stream.part(), check.Worker(stream.has_source(), stream.source(), "source"),
                   check.GenerationOf(stream.source_generation(), "source_generation"),
                   AssignmentOf(check, stream.assignment())});
    check.Require(assignments.insert(stream.assignment()).second, "assignment",
                  absl::StrCat("is ", stream.assignment(), " twice"));
  }
  return out;
}

void PutOpenFetch(const OpenFetch& fetch, v1::OpenFetch& out) {
  out.set_transaction(IdBytes(fetch.transaction));
  out.set_publication(IdBytes(fetch.publication));
  out.set_version(fetch.version);
  out.set_finished(fetch.finished);
  if (fetch.source) *out.mutable_source() = Encode(*fetch.source);
  out.set_source_generation(fetch.source_generation);
  out.set_assignment(fetch.assignment);
  out.set_plan(fetch.plan);
  out.set_sharding(IdBytes(fetch.sharding.id));
  out.set_full(fetch.sharding.full);
  PutStreams(fetch.streams, out);
}
OpenFetch GetOpenFetch(FieldChecks& check, const v1::OpenFetch& in) {
  check.SetPrefix("open_fetch.");
  OpenFetch out;
  out.transaction = check.Id(in.transaction(), "transaction");
  out.publication = check.Id(in.publication(), "publication");
  out.version = in.version();
  out.finished = in.finished();
  if (in.has_source()) {
    out.source = check.Worker(true, in.source(), "source");
    out.source_generation = check.GenerationOf(in.source_generation(), "source_generation");
    out.assignment = AssignmentOf(check, in.assignment());
  }
  out.plan = in.plan();
  out.sharding = {check.IdOrNone(in.sharding(), "sharding"), in.full()};
  out.streams = GetStreams(check, in);
  check.SetPrefix("");
  return out;
}

}  // namespace

v1::OpenSession Encode(const OpenSession& open) {
  v1::OpenSession out;
  out.set_level(kProtocolLevel);
  out.set_agent_version(TENSORHUB_VERSION);
  *out.mutable_worker() = Encode(open.worker);
  out.set_session_number(open.number);
  out.set_world_size(open.world_size);
  out.set_location(open.location.ToString());
  out.set_spot(!open.stable);
  out.set_offers_copies(open.offers_copies);
  out.set_copy_of(open.copy_of);
  out.set_endpoint(open.endpoint);
  out.set_resumed(open.resumed);
  out.set_known_store_id(IdBytes(open.known_store));
  out.set_known_epoch(open.known_hub_epoch);
  *out.mutable_group_epoch() = Encode(open.epoch);
  *out.mutable_joined_epoch() = Encode(open.joined_epoch);
  if (open.holding) PutHolding(*open.holding, *out.mutable_holding());
  if (open.open_fetch) PutOpenFetch(*open.open_fetch, *out.mutable_open_fetch());
  out.set_abandoned_join_op(open.abandoned_join_op);
  out.set_features((open.knows_streams ? uint64_t{v1::FEATURE_STREAMS} : 0) |
                   (open.knows_resharding ? uint64_t{v1::FEATURE_RESHARDING} : 0) |
                   (open.knows_boxes ? uint64_t{v1::FEATURE_BOXES} : 0));
  if (open.repeats) out.set_repeats(*open.repeats);
  out.set_read_key(ToBytes(open.read_key));
  return out;
}

absl::StatusOr<OpenSession> Decode(const v1::OpenSession& open) {
  FieldChecks check;
  OpenSession out;
  out.worker = check.Worker(open.has_worker(), open.worker());
  out.number = check.Positive(open.session_number(), "session_number");
  out.world_size = check.WorldSize(open.world_size());
  check.Require(open.worker().rank() < open.world_size(), "worker.rank",
                absl::StrCat("is ", open.worker().rank(), ", not below world_size, which is ",
                             open.world_size()));
  out.location = check.LocationOf(open.location(), "location");
  out.stable = !open.spot();
  check.Require(
      open.endpoint().size() <= kEndpointBytesMax, "endpoint",
      absl::StrCat("is ", open.endpoint().size(), " bytes, more than ", kEndpointBytesMax));
  out.endpoint = open.endpoint();
  out.offers_copies = open.offers_copies();
  if (!open.copy_of().empty()) check.Name(open.copy_of(), "copy_of");
  out.copy_of = open.copy_of();
  out.resumed = open.resumed();
  out.epoch = Decode(open.group_epoch());
  out.joined_epoch = Decode(open.joined_epoch());
  out.abandoned_join_op = open.abandoned_join_op();
  if (open.has_repeats()) out.repeats = open.repeats();
  out.knows_streams = (open.features() & v1::FEATURE_STREAMS) != 0;
  out.knows_boxes = (open.features() & v1::FEATURE_BOXES) != 0;
  out.knows_resharding = out.knows_streams && (open.features() & v1::FEATURE_RESHARDING) != 0;
  out.known_store = check.IdOrNone(open.known_store_id(), "known_store_id");
  out.known_hub_epoch = open.known_epoch();
  const std::optional<CapabilityKey> key = CapabilityKeyFromBytes(open.read_key());
  check.Require(key.has_value(), "read_key",
                absl::StrCat("is ", open.read_key().size(), " bytes, not ", kCapabilityKeyBytes));
  out.read_key = key.value_or(CapabilityKey{});
  if (open.has_holding()) out.holding = GetHolding(check, open.holding());
  if (open.has_open_fetch()) out.open_fetch = GetOpenFetch(check, open.open_fetch());
  return check.Take(std::move(out));
}

}  // namespace tensorhub::protocol
