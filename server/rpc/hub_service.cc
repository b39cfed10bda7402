// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/hub_service.h"

#include "server/rpc/session_reactor.h"
#include "server/rpc/unary_reactor.h"

namespace tensorhub::rpc {

HubService::HubService(HubLoop& loop, Unfinished& unfinished, Access& access,
                       const ServerIdentity& identity)
    : Operations(loop, unfinished, access), identity_(identity) {
  Offer<v1::PutLayoutRequest, v1::PutLayoutResponse>("PutLayout");
  Offer<v1::PutAttachmentRequest, v1::PutAttachmentResponse>("PutAttachment");
  Offer<v1::PublishRequest, v1::PublishResponse>("Publish");
  Offer<v1::UnpublishRequest, v1::UnpublishResponse>("Unpublish");
  Offer<v1::JoinFetchRequest, v1::JoinFetchResponse>("JoinFetch");
  Offer<v1::BeginReadRequest, v1::BeginReadResponse>("BeginRead");
  Offer<v1::FinishReadRequest, v1::FinishReadResponse>("FinishRead");
  Offer<v1::WaitForVersionRequest, v1::WaitForVersionResponse>("WaitForVersion");
  Offer<v1::LeaveRequest, v1::LeaveResponse>("Leave");
}

grpc::ServerBidiReactor<v1::WorkerMessage, v1::HubMessage>* HubService::Session(
    grpc::CallbackServerContext* context) {
  return SessionReactor::Start(loop_, unfinished_, access_, identity_, context);
}

}  // namespace tensorhub::rpc
