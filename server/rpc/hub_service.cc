// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/hub_service.h"

#include "server/rpc/session_reactor.h"
#include "server/rpc/unary_reactor.h"

namespace tensorhub::rpc {

grpc::ServerBidiReactor<v1::WorkerMessage, v1::HubMessage>* HubService::Session(
    grpc::CallbackServerContext* context) {
  return SessionReactor::Start(loop_, identity_, context);
}

grpc::ServerUnaryReactor* HubService::PutLayout(grpc::CallbackServerContext*,
                                                const v1::PutLayoutRequest* request,
                                                v1::PutLayoutResponse* response) {
  return CallReactor<v1::PutLayoutResponse>::Start(loop_, *request, response);
}

grpc::ServerUnaryReactor* HubService::PutAttachment(grpc::CallbackServerContext*,
                                                    const v1::PutAttachmentRequest* request,
                                                    v1::PutAttachmentResponse* response) {
  return CallReactor<v1::PutAttachmentResponse>::Start(loop_, *request, response);
}

grpc::ServerUnaryReactor* HubService::Publish(grpc::CallbackServerContext*,
                                              const v1::PublishRequest* request,
                                              v1::PublishResponse* response) {
  return CallReactor<v1::PublishResponse>::Start(loop_, *request, response);
}

grpc::ServerUnaryReactor* HubService::Unpublish(grpc::CallbackServerContext*,
                                                const v1::UnpublishRequest* request,
                                                v1::UnpublishResponse* response) {
  return CallReactor<v1::UnpublishResponse>::Start(loop_, *request, response);
}

grpc::ServerUnaryReactor* HubService::JoinFetch(grpc::CallbackServerContext*,
                                                const v1::JoinFetchRequest* request,
                                                v1::JoinFetchResponse* response) {
  return CallReactor<v1::JoinFetchResponse>::Start(loop_, *request, response);
}

grpc::ServerUnaryReactor* HubService::BeginRead(grpc::CallbackServerContext*,
                                                const v1::BeginReadRequest* request,
                                                v1::BeginReadResponse* response) {
  return CallReactor<v1::BeginReadResponse>::Start(loop_, *request, response);
}

grpc::ServerUnaryReactor* HubService::FinishRead(grpc::CallbackServerContext*,
                                                 const v1::FinishReadRequest* request,
                                                 v1::FinishReadResponse* response) {
  return CallReactor<v1::FinishReadResponse>::Start(loop_, *request, response);
}

grpc::ServerUnaryReactor* HubService::WaitForVersion(grpc::CallbackServerContext*,
                                                     const v1::WaitForVersionRequest* request,
                                                     v1::WaitForVersionResponse* response) {
  return CallReactor<v1::WaitForVersionResponse>::Start(loop_, *request, response);
}

grpc::ServerUnaryReactor* HubService::Leave(grpc::CallbackServerContext*,
                                            const v1::LeaveRequest* request,
                                            v1::LeaveResponse* response) {
  return CallReactor<v1::LeaveResponse>::Start(loop_, *request, response);
}

}  // namespace tensorhub::rpc
