// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/server_builder.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>

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

constexpr int kStreamsMax = 1000;
constexpr int kThreadsMax = 64;

// Keepalive frees the streams of hosts that vanished; leases decide who is alive. The clients'
// pings must stay above the interval that is tolerated here.
void SetChannelArguments(grpc::ServerBuilder& builder, size_t receive_bytes_max, bool shares_port) {
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, shares_port ? 1 : 0);
  const auto set = [&](const char* name, int value) { builder.AddChannelArgument(name, value); };
  SetKeepalive(set, kLongestAnswerMs);
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

void PrepareBuilder(grpc::ServerBuilder& builder, size_t receive_bytes_max, bool reflection,
                    bool shares_port) {
  EnablePlugins();
  if (!reflection) builder.SetOption(std::make_unique<WithoutReflection>());
  SetChannelArguments(builder, receive_bytes_max, shares_port);
}

absl::Status CannotListenAt(const ListenAddress& address) {
  return absl::UnavailableError(absl::StrCat("--listen: cannot listen on ", address.ToString(),
                                             ": choose another address or port"));
}

}  // namespace tensorhub::rpc
