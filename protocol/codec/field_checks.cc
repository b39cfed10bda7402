// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "protocol/codec/field_checks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/chunking.h"
#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/text.h"

namespace tensorhub::protocol {

void FieldChecks::Require(bool good, const char* field, const std::string& problem) {
  if (good || !status_.ok()) return;
  status_ = absl::InvalidArgumentError(absl::StrCat(prefix_, field, ": ", problem));
}

std::string FieldChecks::Name(const std::string& value, const char* field) {
  const std::optional<std::string> problem = NameProblem(value);
  Require(!problem, field, problem.value_or(""));
  return value;
}

Id128 FieldChecks::Id(const std::string& bytes, const char* field) {
  const std::optional<Id128> id = FromBytes(bytes);
  Require(id.has_value(), field, absl::StrCat("is ", bytes.size(), " bytes, not 16"));
  Require(!id || static_cast<bool>(*id), field, "is all zero");
  return id.value_or(Id128{});
}

Id128 FieldChecks::IdOrNone(const std::string& bytes, const char* field) {
  return bytes.empty() ? Id128{} : Id(bytes, field);
}

Generation FieldChecks::GenerationOf(uint64_t value, const char* field) {
  Require(value >= 1 && value <= kGenerationMax, field,
          absl::StrCat("is ", value, ", not between 1 and ", kGenerationMax));
  return value;
}

uint64_t FieldChecks::Positive(uint64_t value, const char* field) {
  Require(value >= 1, field, "is 0; they count from 1");
  return value;
}

uint32_t FieldChecks::WorldSize(uint32_t value, const char* field) {
  Require(value >= 1 && value <= kWorldSizeMax, field,
          absl::StrCat("is ", value, ", not between 1 and ", kWorldSizeMax));
  return value;
}

uint32_t FieldChecks::ChunkCount(uint32_t value, const char* field) {
  Require(value <= kChunkCountMax, field,
          absl::StrCat("is ", value, ", more than ", kChunkCountMax));
  return value;
}

uint64_t FieldChecks::ChunkBytes(uint64_t value, const char* field) {
  const absl::Status status = CheckChunking({.total_bytes = 0, .chunk_bytes = value});
  Require(status.ok(), field, std::string(status.message()));
  return value;
}

Location FieldChecks::LocationOf(const std::string& text, const char* field) {
  absl::StatusOr<Location> location = Location::Parse(text);
  Require(location.ok(), field, std::string(location.status().message()));
  return location.ok() ? *std::move(location) : Location();
}

TimeMs FieldChecks::Time(uint64_t ms) {
  return static_cast<TimeMs>(std::min<uint64_t>(ms, kTimeMsMax));
}

WorkerIdentity FieldChecks::Worker(bool present, const v1::WorkerId& worker, const char* field) {
  Require(present, field, "is missing");
  if (!present) return {};
  const std::string at = absl::StrCat(field, ".");
  WorkerIdentity identity;
  identity.key.model = Name(worker.model(), (at + "model").c_str());
  identity.key.group = Name(worker.group(), (at + "group").c_str());
  identity.key.rank = worker.rank();
  identity.incarnation = worker.incarnation();
  Require(worker.rank() < kWorldSizeMax, (at + "rank").c_str(),
          absl::StrCat("is ", worker.rank(), ", not below ", kWorldSizeMax));
  Require(worker.incarnation() != 0, (at + "incarnation").c_str(), "is 0");
  return identity;
}

absl::Status FieldChecks::Result(uint32_t code, const std::string& reason, const char* field) {
  Require(code == 0 || StatusCodeFromWire(code) == static_cast<absl::StatusCode>(code), field,
          absl::StrCat("is ", code, ", not a status code"));
  return StatusFromWire(code, ReadableText(reason, kReasonBytesMax));
}

VersionSelector FieldChecks::SelectorOf(bool present, const v1::Selector& selector) {
  using Kind = VersionSelector::Kind;
  Require(present, "selector", "is missing");
  switch (selector.kind_case()) {
    case v1::Selector::kLatest:
      Require(selector.latest(), "selector.latest", "is false; leave it out or say true");
      return {Kind::kLatest, 0};
    case v1::Selector::kExact:
      return {Kind::kExact, selector.exact()};
    case v1::Selector::kNewerThan:
      Require(!selector.any() || selector.newer_than() == 0, "selector.any",
              "is true beside a newer_than; leave one of them out");
      return {selector.any() ? Kind::kAny : Kind::kNewerThan, selector.newer_than()};
    case v1::Selector::KIND_NOT_SET:
      break;
  }
  Require(false, "selector", "names none of latest, exact, newer_than");
  return {};
}

}  // namespace tensorhub::protocol
