// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The connection to the hub, as a gRPC channel with our settings.

#ifndef TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_
#define TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "common/mutex.h"
#include "common/tls/client_security.h"

namespace tensorhub::agent {

// Channels of one process to one hub have one connection together, unless they want one each.
enum class Connection { kShared, kOwn };

// What the channel is for. The first one of a process stays for ever, and must be used for the
// callback API, at least once.
enum class Calls { kAny, kBlocking };

// `server` is HOST:PORT. Never fails by itself: what is wrong shows in the first call. With the
// credentials that the environment names.
std::shared_ptr<grpc::Channel> MakeHubChannel(const std::string& server,
                                              Connection connection = Connection::kShared);

// The channel of one worker, which all of its calls go through. Any thread.
class HubChannel {
 public:
  // ClientSecurity::OrEnvironment is applied.
  explicit HubChannel(std::string server, const tls::ClientSecurity& security = {},
                      Calls calls = Calls::kAny);

  // Another one than before once the files of the credentials have changed.
  std::shared_ptr<grpc::Channel> Get() ABSL_LOCKS_EXCLUDED(mutex_);
  // One with a connection of its own, which begins at once. gRPC 1.51 sleeps by the wall clock
  // before it connects again: where that was set back by an hour, for an hour.
  std::shared_ptr<grpc::Channel> Renew() ABSL_LOCKS_EXCLUDED(mutex_);
  // ClientCredentials::WhyNot. Blocks.
  std::string WhyNot() const { return credentials_.WhyNot(server_); }

 private:
  std::shared_ptr<grpc::Channel> Make(Connection connection) const;

  const std::string server_;
  const Calls calls_;
  tls::ClientCredentials credentials_;
  Mutex mutex_;
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_
