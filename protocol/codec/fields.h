// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What many messages have in them, written to the wire and read from it.

#ifndef TENSORHUB_PROTOCOL_CODEC_FIELDS_H_
#define TENSORHUB_PROTOCOL_CODEC_FIELDS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/capability.h"
#include "common/ids.h"
#include "common/time.h"
#include "tensorhub/v1/hub.pb.h"

namespace tensorhub::protocol {

// "" for none, as the wire says it.
std::string IdBytes(const Id128& id);
// No time is negative there.
uint64_t Unsigned(TimeMs ms);

v1::WorkerId Encode(const WorkerIdentity& worker);
v1::GroupEpoch Encode(const GroupEpoch& epoch);
v1::Term Encode(const Term& term);
WorkerIdentity Decode(const v1::WorkerId& worker);
GroupEpoch Decode(const v1::GroupEpoch& epoch);
Term Decode(const v1::Term& term);

// Reads what a hub sent, and remembers the first field that no hub of ours would send. A worker
// does not judge its hub, so these are few.
class HubFields {
 public:
  Id128 Id(const std::string& bytes, const char* name);        // not none
  Id128 IdOrNone(const std::string& bytes, const char* name);  // or empty
  Capability CapabilityOrNone(const std::string& bytes, const char* name);
  void Require(bool good, const char* name);

  const absl::Status& status() const { return status_; }
  // INVALID_ARGUMENT names the field.
  template <typename Result, typename T>
  absl::StatusOr<Result> Take(T value) const {
    if (!status_.ok()) return status_;
    return Result(std::move(value));
  }

 private:
  absl::Status status_;
};

// One line, of bounded length.
std::string ReasonText(const absl::Status& reason);
// Why a hub ended something. A refusal with code 0 is still one.
absl::Status DecodeReason(uint32_t code, const std::string& text);

}  // namespace tensorhub::protocol

#endif  // TENSORHUB_PROTOCOL_CODEC_FIELDS_H_
