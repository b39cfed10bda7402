// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reports as the wire has them, and back. Pure functions. A hub checks each field (rule R9): the
// first bad one is named in an INVALID_ARGUMENT.

#ifndef TENSORHUB_PROTOCOL_CODEC_REPORTS_H_
#define TENSORHUB_PROTOCOL_CODEC_REPORTS_H_

#include "absl/status/statusor.h"
#include "protocol/messages/reports.h"
#include "tensorhub/v1/hub.pb.h"

namespace tensorhub::protocol {

// With this program's version, and the level of the protocol that it speaks.
v1::OpenSession Encode(const OpenSession& open);
absl::StatusOr<OpenSession> Decode(const v1::OpenSession& open);

// Everything that may follow `open`.
v1::WorkerMessage Encode(const WorkerMessage& message);
absl::StatusOr<WorkerMessage> Decode(const v1::WorkerMessage& message);

}  // namespace tensorhub::protocol

#endif  // TENSORHUB_PROTOCOL_CODEC_REPORTS_H_
