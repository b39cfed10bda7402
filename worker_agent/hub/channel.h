// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The connection to the hub, as a gRPC channel with our settings.

#ifndef TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_
#define TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_

#include <grpcpp/channel.h>

#include <memory>
#include <optional>
#include <string>

#include "common/grpc_keepalive.h"
#include "common/mutex.h"
#include "common/server_choice.h"
#include "common/time.h"
#include "common/tls/client_security.h"

namespace tensorhub::agent {

// Channels of one process to one hub have one connection together, unless they want one each.
enum class Connection { kShared, kOwn };

// What the channel is for. The first one of a process stays for ever, and must be used for the
// callback API, at least once.
enum class Calls { kAny, kBlocking };

// `server` is HOST:PORT, or the first of several. Never fails by itself: what is wrong shows in the
// first call. With the credentials that the environment names.
std::shared_ptr<grpc::Channel> MakeHubChannel(const std::string& server,
                                              Connection connection = Connection::kShared);

// The channel of one worker, which all of its calls go through: to the server that leads, as far as
// is known. Any thread.
class HubChannel {
 public:
  struct Way {
    std::string server;
    std::shared_ptr<grpc::Channel> channel;
  };

  // HOST:PORT, or several with commas. ClientSecurity::OrEnvironment is applied.
  explicit HubChannel(const std::string& server, const tls::ClientSecurity& security = {},
                      Calls calls = Calls::kAny);

  // Another one than before once the files of the credentials have changed.
  std::shared_ptr<grpc::Channel> Get() ABSL_LOCKS_EXCLUDED(mutex_);
  Way GetWay() ABSL_LOCKS_EXCLUDED(mutex_);
  // How a call ended that went to `server`: ServerChoice::NotThere, if so it did.
  void Note(const std::string& server, const absl::Status& ended) ABSL_LOCKS_EXCLUDED(mutex_);
  // ServerChoice::There. What is made from now on has the patience that such a round trip wants. If
  // the channel in use has less, one that has it begins to connect.
  void NoteThere(const std::string& server, TimeMs round_trip_ms) ABSL_LOCKS_EXCLUDED(mutex_);
  // There is such a one, and it may not be connected yet.
  bool has_patient() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether it is connected, and is the channel from now on.
  bool TakePatient() ABSL_LOCKS_EXCLUDED(mutex_);
  // Nobody answered within that time, and nobody refused: the server may be further away than the
  // channel allows for, so the next one allows for more.
  void NoteNoAnswer(TimeMs waited_ms) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether another server may be the right one.
  bool several() const ABSL_LOCKS_EXCLUDED(mutex_);
  // ServerChoice::Other.
  std::optional<std::string> Other(size_t turn) const ABSL_LOCKS_EXCLUDED(mutex_);
  // One to another server, beside the worker's own.
  std::shared_ptr<grpc::Channel> Beside(const std::string& server) const;
  // One with a connection of its own, which begins at once. gRPC 1.51 sleeps by the wall clock
  // before it connects again: where that was set back by an hour, for an hour.
  std::shared_ptr<grpc::Channel> Renew() ABSL_LOCKS_EXCLUDED(mutex_);
  // ClientCredentials::WhyNot. Blocks.
  std::string WhyNot() const;

 private:
  std::shared_ptr<grpc::Channel> Make(Connection connection) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UseAnother(Connection connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Calls calls_;
  tls::ClientCredentials credentials_;
  mutable Mutex mutex_;
  ServerChoice choice_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> patient_ ABSL_GUARDED_BY(mutex_);
  int answer_ms_ ABSL_GUARDED_BY(mutex_) = kAnswerMs;
  int answer_ms_in_use_ ABSL_GUARDED_BY(mutex_) = kAnswerMs;  // of channel_
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_CHANNEL_H_
