// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The workers' service: sessions and operations.

#ifndef TENSORHUB_SERVER_RPC_HUB_SERVICE_H_
#define TENSORHUB_SERVER_RPC_HUB_SERVICE_H_

#include "server/rpc/operations.h"
#include "server/store/identity.h"
#include "tensorhub/v1/hub.grpc.pb.h"

namespace tensorhub::rpc {

class HubService final : public Operations<v1::Hub> {
 public:
  HubService(HubLoop& loop, Unfinished& unfinished, Access& access, const ServerIdentity& identity);

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::HubMessage>* Session(
      grpc::CallbackServerContext* context) override;

 private:
  const ServerIdentity identity_;
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_HUB_SERVICE_H_
