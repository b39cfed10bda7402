// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The wire contract to the core's events (rule R9: strictly checked, the first bad field is named
// in an INVALID_ARGUMENT) and the core's effects to the wire contract. Pure functions.

#ifndef TENSORHUB_SERVER_RPC_TRANSLATE_H_
#define TENSORHUB_SERVER_RPC_TRANSLATE_H_

#include "absl/status/statusor.h"
#include "server/core/effects.h"
#include "server/core/events.h"
#include "server/store/identity.h"
#include "tensorhub/v1/admin.pb.h"
#include "tensorhub/v1/hub.pb.h"

namespace tensorhub::rpc {

namespace pb = tensorhub::v1;

// R9: calls may wait for long, and what they came with waits with them. INVALID_ARGUMENT.
absl::Status CheckPlain(const google::protobuf::MessageLite& message);

absl::StatusOr<hub::SessionOpened> ToCore(const pb::OpenSession& open, hub::SessionId session);
// Everything that may follow `open`.
absl::StatusOr<hub::Event> ToCore(const pb::WorkerMessage& message, hub::SessionId session);

absl::StatusOr<hub::Event> ToCore(const pb::PublishRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::UnpublishRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::JoinFetchRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::BeginReadRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::FinishReadRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::WaitForVersionRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::LeaveRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::PutLayoutRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::PutAttachmentRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::RetainRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::PinRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::UnpinRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::SupersedeRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::DrainRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::AdoptRequest& request, hub::CallId call);
absl::StatusOr<hub::Event> ToCore(const pb::RewindRequest& request, hub::CallId call);

// FAILED_PRECONDITION if the worker speaks a level of the protocol that this server does not know.
absl::Status CheckLevel(const pb::OpenSession& open);
// FAILED_PRECONDITION if the worker knows a later life of this hub (R8).
absl::Status CheckIdentity(const pb::OpenSession& open, const ServerIdentity& mine);

pb::HubMessage ToProto(const hub::Directive& directive, const ServerIdentity& identity);

// False: the call failed, and its status is the gRPC call's own.
bool IsAnswer(const hub::Reply& reply);
// The reply's payload; INTERNAL if it is another call's.
absl::Status FillResponse(const hub::Reply& reply, pb::PublishResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::UnpublishResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::JoinFetchResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::FinishReadResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::WaitForVersionResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::BeginReadResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::LeaveResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::PutLayoutResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::PutAttachmentResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::RetainResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::PinResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::UnpinResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::SupersedeResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::DrainResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::AdoptResponse& response);
absl::Status FillResponse(const hub::Reply& reply, pb::RewindResponse& response);

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_TRANSLATE_H_
