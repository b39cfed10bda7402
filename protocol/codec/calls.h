// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Calls and replies as the wire has them, and back. Pure functions. Who calls, and the number of
// the call, are added to a request and read from it by the shells. A hub checks each field (rule
// R9): the first bad one is named in an INVALID_ARGUMENT.

#ifndef TENSORHUB_PROTOCOL_CODEC_CALLS_H_
#define TENSORHUB_PROTOCOL_CODEC_CALLS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protocol/messages/calls.h"
#include "tensorhub/v1/hub.pb.h"

namespace tensorhub::protocol {

v1::PublishRequest Encode(const Publish& call);
v1::UnpublishRequest Encode(const Unpublish& call);
v1::JoinFetchRequest Encode(const JoinFetch& call);
v1::BeginReadRequest Encode(const BeginRead& call);
v1::FinishReadRequest Encode(const FinishRead& call);
v1::LeaveRequest Encode(const Leave& call);

absl::StatusOr<Publish> Decode(const v1::PublishRequest& request);
absl::StatusOr<Unpublish> Decode(const v1::UnpublishRequest& request);
absl::StatusOr<JoinFetch> Decode(const v1::JoinFetchRequest& request);
absl::StatusOr<BeginRead> Decode(const v1::BeginReadRequest& request);
absl::StatusOr<FinishRead> Decode(const v1::FinishReadRequest& request);
absl::StatusOr<Leave> Decode(const v1::LeaveRequest& request);

v1::PublishResponse Encode(const PublishReply& reply);
v1::UnpublishResponse Encode(const UnpublishReply& reply);
v1::JoinFetchResponse Encode(const FetchDecision& reply);
// The outcome is an answer, also if it is an error.
v1::FinishReadResponse Encode(const FinishReadReply& reply, const absl::Status& outcome);

absl::StatusOr<PublishReply> Decode(const v1::PublishResponse& response);
absl::StatusOr<UnpublishReply> Decode(const v1::UnpublishResponse& response);
absl::StatusOr<FetchDecision> Decode(const v1::JoinFetchResponse& response);
absl::StatusOr<FinishReadReply> Decode(const v1::FinishReadResponse& response);
absl::Status OutcomeOf(const v1::FinishReadResponse& response);

}  // namespace tensorhub::protocol

#endif  // TENSORHUB_PROTOCOL_CODEC_CALLS_H_
