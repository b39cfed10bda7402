// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The workers' service: sessions and operations.

#ifndef TENSORHUB_SERVER_RPC_HUB_SERVICE_H_
#define TENSORHUB_SERVER_RPC_HUB_SERVICE_H_

#include "server/rpc/hub_loop.h"
#include "server/store/identity.h"
#include "tensorhub/v1/hub.grpc.pb.h"

namespace tensorhub::rpc {

class HubService final : public v1::Hub::CallbackService {
 public:
  HubService(HubLoop& loop, const ServerIdentity& identity) : loop_(loop), identity_(identity) {}

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::HubMessage>* Session(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* PutLayout(grpc::CallbackServerContext*, const v1::PutLayoutRequest*,
                                      v1::PutLayoutResponse*) override;
  grpc::ServerUnaryReactor* PutAttachment(grpc::CallbackServerContext*,
                                          const v1::PutAttachmentRequest*,
                                          v1::PutAttachmentResponse*) override;
  grpc::ServerUnaryReactor* Publish(grpc::CallbackServerContext*, const v1::PublishRequest*,
                                    v1::PublishResponse*) override;
  grpc::ServerUnaryReactor* Unpublish(grpc::CallbackServerContext*, const v1::UnpublishRequest*,
                                      v1::UnpublishResponse*) override;
  grpc::ServerUnaryReactor* JoinFetch(grpc::CallbackServerContext*, const v1::JoinFetchRequest*,
                                      v1::JoinFetchResponse*) override;
  grpc::ServerUnaryReactor* BeginRead(grpc::CallbackServerContext*, const v1::BeginReadRequest*,
                                      v1::BeginReadResponse*) override;
  grpc::ServerUnaryReactor* FinishRead(grpc::CallbackServerContext*, const v1::FinishReadRequest*,
                                       v1::FinishReadResponse*) override;
  grpc::ServerUnaryReactor* WaitForVersion(grpc::CallbackServerContext*,
                                           const v1::WaitForVersionRequest*,
                                           v1::WaitForVersionResponse*) override;
  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext*, const v1::LeaveRequest*,
                                  v1::LeaveResponse*) override;

 private:
  HubLoop& loop_;
  const ServerIdentity identity_;
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_HUB_SERVICE_H_
