// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/grpc_flow_control.h"
#include "common/grpc_keepalive.h"
#include "common/limits.h"

namespace tensorhub::rpc {
namespace {

constexpr std::chrono::milliseconds kShutdownGrace{1000};
constexpr int kStreamsMax = 1000;
constexpr int kThreadsMax = 64;

// Keepalive frees the streams of hosts that vanished; leases decide who is alive. The clients'
// pings must stay above the interval that is tolerated here.
void SetChannelArguments(grpc::ServerBuilder& builder, size_t receive_bytes_max) {
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  const auto set = [&](const char* name, int value) { builder.AddChannelArgument(name, value); };
  SetKeepalive(set);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  SetFlowControl(set);
  // R9: what one connection, and reflection, which has a thread for each stream, can take.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsMax);
  grpc::ResourceQuota quota("hub");
  builder.SetResourceQuota(quota.SetMaxThreads(kThreadsMax).Resize(receive_bytes_max));
  builder.SetMaxReceiveMessageSize(kHubMessageBytesMax);
  builder.SetMaxSendMessageSize(-1);
}

// Both switches are global to the process and count for servers built later. (gRPC 1.51 turns the
// second one itself, in every program that is linked with it.)
void EnablePlugins() {
  static std::once_flag once;
  grpc::EnableDefaultHealthCheckService(true);
  std::call_once(once, grpc::reflection::InitProtoReflectionServerBuilderPlugin);
}

class WithoutReflection : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == kReflection; });
  }

 private:
  static constexpr std::string_view kReflection = "proto_server_reflection";
};

}  // namespace

RpcServer::RpcServer(const Options& options, std::unique_ptr<Guard> guard)
    : epoch_(options.identity.epoch),
      address_(options.listen),
      guard_(std::move(guard)),
      loop_(options.loop),
      unfinished_(options.request_patience),
      hub_service_(loop_, unfinished_, guard_->access(), options.identity),
      admin_service_(loop_, unfinished_, *guard_,
                     {.identity = options.identity,
                      .listen = options.listen.ToString(),
                      .data_dir = options.data_dir,
                      .watch_queue_max = options.watch_queue_max}) {}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const Options& options) {
  if (absl::Status status = TryToListen(options.listen); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Guard>> guard = Guard::Make(options.guard);
  if (!guard.ok()) return guard.status();
  std::unique_ptr<RpcServer> server(new RpcServer(options, *std::move(guard)));
  if (absl::Status status = server->Listen(options); !status.ok()) return status;
  return server;
}

absl::Status RpcServer::Listen(const Options& options) {
  EnablePlugins();
  grpc::ServerBuilder builder;
  if (!options.reflection) builder.SetOption(std::make_unique<WithoutReflection>());
  SetChannelArguments(builder, options.receive_bytes_max);
  int port = 0;
  builder.AddListeningPort(address_.ToString(), guard_->credentials(), &port);
  builder.RegisterService(&hub_service_);
  builder.RegisterService(&admin_service_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat("--listen: cannot listen on ", address_.ToString(),
                                               ": choose another address or port"));
  }
  address_.port = static_cast<uint16_t>(port);
  admin_service_.SetListen(address_.ToString());
  for (const char* name : {"", "tensorhub.v1.Hub", "tensorhub.v1.Admin"}) {
    server_->GetHealthCheckService()->SetServingStatus(name, true);
  }
  return absl::OkStatus();
}

RpcServer::About RpcServer::about() {
  return {std::chrono::steady_clock::now() - started_, epoch_, loop_.refusals().ByCode(),
          guard_->facts()};
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
