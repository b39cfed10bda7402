// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The connection to the hub, as a gRPC channel with our settings.

#ifndef TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_
#define TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>

namespace tensorhub::agent {

// Channels of one process to one hub have one connection together, unless they want one each.
enum class Connection { kShared, kOwn };

// `server` is HOST:PORT. Never fails by itself: what is wrong shows in the first call. The first
// channel of a process must be used for the callback API, at least once.
std::shared_ptr<grpc::Channel> MakeHubChannel(const std::string& server,
                                              Connection connection = Connection::kShared);
// The same for calls that block their caller, only.
std::shared_ptr<grpc::Channel> MakeQueryChannel(const std::string& server);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_
