// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Directives as the wire has them, and back. Pure functions.

#ifndef TENSORHUB_PROTOCOL_CODEC_DIRECTIVES_H_
#define TENSORHUB_PROTOCOL_CODEC_DIRECTIVES_H_

#include <optional>

#include "absl/status/statusor.h"
#include "protocol/messages/directives.h"
#include "tensorhub/v1/hub.pb.h"

namespace tensorhub::protocol {

v1::HubMessage Encode(const HubMessage& message);
// Nothing for a message of a newer hub that this agent does not know. INVALID_ARGUMENT names what
// no hub of ours sends.
absl::StatusOr<std::optional<HubMessage>> Decode(const v1::HubMessage& message);

}  // namespace tensorhub::protocol

#endif  // TENSORHUB_PROTOCOL_CODEC_DIRECTIVES_H_
