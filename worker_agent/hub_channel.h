// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The connection to the hub, as a gRPC channel with our settings.

#ifndef TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_
#define TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <utility>

#include "common/mutex.h"

namespace tensorhub::agent {

// Channels of one process to one hub have one connection together, unless they want one each.
enum class Connection { kShared, kOwn };

// `server` is HOST:PORT. Never fails by itself: what is wrong shows in the first call. The first
// channel of a process must be used for the callback API, at least once.
std::shared_ptr<grpc::Channel> MakeHubChannel(const std::string& server,
                                              Connection connection = Connection::kShared);
// The same for calls that block their caller, only.
std::shared_ptr<grpc::Channel> MakeQueryChannel(const std::string& server);

// The channel of one worker, which all of its calls go through. Any thread.
class HubChannel {
 public:
  explicit HubChannel(const std::string& server) : HubChannel(server, MakeHubChannel(server)) {}
  HubChannel(std::string server, std::shared_ptr<grpc::Channel> channel)
      : server_(std::move(server)), channel_(std::move(channel)) {}

  std::shared_ptr<grpc::Channel> Get() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return channel_;
  }
  // One with a connection of its own, which begins at once. gRPC 1.51 sleeps by the wall clock
  // before it connects again: where that was set back by an hour, for an hour.
  std::shared_ptr<grpc::Channel> Renew() ABSL_LOCKS_EXCLUDED(mutex_) {
    auto channel = MakeHubChannel(server_, Connection::kOwn);
    MutexLock lock(mutex_);
    return channel_ = channel;
  }

 private:
  const std::string server_;
  mutable Mutex mutex_;
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_
