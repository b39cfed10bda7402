// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/rpc_server.h"

#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <memory>

#include "server/rpc/server_builder.h"
#include "server/rpc/standby_server.h"

namespace tensorhub::rpc {
namespace {

constexpr std::chrono::milliseconds kShutdownGrace{1000};

}  // namespace

RpcServer::RpcServer(const Options& options, std::unique_ptr<Guard> guard)
    : epoch_(options.identity.epoch),
      leads_at_(options.leads_at),
      address_(options.listen),
      guard_(std::move(guard)),
      loop_(options.loop),
      unfinished_(options.request_patience),
      hub_service_(loop_, unfinished_, guard_->access(), options.identity),
      admin_service_(loop_, unfinished_, *guard_,
                     {.identity = options.identity,
                      .listen = options.listen.ToString(),
                      .data_dir = options.data_dir,
                      .leads_at = options.leads_at,
                      .watch_queue_max = options.watch_queue_max}) {}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const Options& options) {
  // One that was elected follows its own StandbyServer, which still listens there.
  const bool follows = !options.leads_at.empty();
  absl::Status status = follows ? absl::OkStatus() : TryToListen(options.listen);
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Guard>> guard = Guard::Make(options.guard);
  if (!guard.ok()) return guard.status();
  std::unique_ptr<RpcServer> server(new RpcServer(options, *std::move(guard)));
  if (status = server->Listen(options); !status.ok()) return status;
  return server;
}

absl::Status RpcServer::Listen(const Options& options) {
  grpc::ServerBuilder builder;
  PrepareBuilder(builder, options.receive_bytes_max, options.reflection,
                 /*shares_port=*/!options.leads_at.empty());
  int port = 0;
  builder.AddListeningPort(address_.ToString(), guard_->credentials(), &port);
  builder.RegisterService(&hub_service_);
  builder.RegisterService(&admin_service_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) return CannotListenAt(address_);
  address_.port = static_cast<uint16_t>(port);
  admin_service_.SetListen(address_.ToString());
  for (const char* name : {"", "tensorhub.v1.Hub", "tensorhub.v1.Admin"}) {
    server_->GetHealthCheckService()->SetServingStatus(name, true);
  }
  server_->GetHealthCheckService()->SetServingStatus(kStandbyHealth, false);
  return absl::OkStatus();
}

void RpcServer::SetDoubted(bool doubted) {
  doubted_ = doubted;
  admin_service_.SetDoubted(doubted);
  for (const char* name : {"tensorhub.v1.Hub", "tensorhub.v1.Admin"}) {
    server_->GetHealthCheckService()->SetServingStatus(name, !doubted);
  }
}

RpcServer::About RpcServer::about() {
  return {std::chrono::steady_clock::now() - started_,
          epoch_,
          loop_.refusals().ByCode(),
          loop_.latencies().ByCall(),
          guard_->access().BoundsMet(),
          guard_->facts(),
          !doubted_,
          leads_at_};
}

RpcServer::~RpcServer() { Shutdown(); }

// The order matters: whatever we did not finish ourselves would hold up gRPC's shutdown.
void RpcServer::Shutdown() {
  if (server_ == nullptr) return;
  guard_->Stop();
  server_->GetHealthCheckService()->Shutdown();  // NOT_SERVING, for good
  loop_.Stop();
  server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  server_->Wait();
  server_.reset();
}

}  // namespace tensorhub::rpc
