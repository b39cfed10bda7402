// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "protocol/codec/fields.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/text.h"

namespace tensorhub::protocol {

std::string IdBytes(const Id128& id) { return id ? ToBytes(id) : std::string(); }

uint64_t Unsigned(TimeMs ms) { return ms > 0 ? static_cast<uint64_t>(ms) : 0; }

v1::WorkerId Encode(const WorkerIdentity& worker) {
  v1::WorkerId out;
  out.set_model(worker.key.model);
  out.set_group(worker.key.group);
  out.set_rank(worker.key.rank);
  out.set_incarnation(worker.incarnation);
  return out;
}

v1::GroupEpoch Encode(const GroupEpoch& epoch) {
  v1::GroupEpoch out;
  out.set_hub_epoch(epoch.hub_epoch);
  out.set_count(epoch.count);
  return out;
}

v1::Term Encode(const Term& term) {
  v1::Term out;
  out.set_number(term.number);
  out.set_since(term.since);
  return out;
}

WorkerIdentity Decode(const v1::WorkerId& worker) {
  return {{worker.model(), worker.group(), worker.rank()}, worker.incarnation()};
}

GroupEpoch Decode(const v1::GroupEpoch& epoch) { return {epoch.hub_epoch(), epoch.count()}; }

Term Decode(const v1::Term& term) { return {term.number(), term.since()}; }

Id128 HubFields::Id(const std::string& bytes, const char* name) {
  const std::optional<Id128> id = FromBytes(bytes);
  Require(id && *id, name);
  return id.value_or(Id128{});
}

Id128 HubFields::IdOrNone(const std::string& bytes, const char* name) {
  return bytes.empty() ? Id128{} : Id(bytes, name);
}

Capability HubFields::CapabilityOrNone(const std::string& bytes, const char* name) {
  const std::optional<Capability> capability = CapabilityFromBytes(bytes);
  Require(capability.has_value(), name);
  return capability.value_or(Capability{});
}

void HubFields::Require(bool good, const char* name) {
  if (good || !status_.ok()) return;
  status_ = absl::InvalidArgumentError(absl::StrCat("the server sent a malformed ", name,
                                                    "; check that its version fits this client"));
}

std::string ReasonText(const absl::Status& reason) {
  return ReadableText(std::string(reason.message()), kReasonBytesMax);
}

absl::Status DecodeReason(uint32_t code, const std::string& text) {
  return code == 0 ? absl::AbortedError(text) : StatusFromWire(code, text);
}

}  // namespace tensorhub::protocol
