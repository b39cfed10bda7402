// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a client of the hub shows who it is, and whom it takes for the hub.
//
// Thread contract: ClientCredentials by any thread.

#ifndef TENSORHUB_COMMON_TLS_CLIENT_SECURITY_H_
#define TENSORHUB_COMMON_TLS_CLIENT_SECURITY_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "common/tls/certificates.h"

namespace grpc {
class Channel;
class ChannelArguments;
}  // namespace grpc

namespace tensorhub::tls {

struct ClientSecurity {
  Files tls;               // any: the connection is TLS
  std::string token_file;  // one line; empty: no token
  bool operator==(const ClientSecurity&) const = default;

  // What is empty is as TENSORHUB_TLS_CA, _TLS_CERT, _TLS_KEY and TENSORHUB_TOKEN_FILE say.
  ClientSecurity OrEnvironment() const;
};

// INVALID_ARGUMENT: what Load finds; a token file without a token; or a token that would go over a
// plain connection to a `server` that is not named as this host's loopback.
absl::Status Check(const ClientSecurity& security, const std::string& server);

// "localhost", 127.x.x.x, ::1; of HOST:PORT.
bool IsLoopback(const std::string& server);

// The files, as they were when they were last good.
class ClientCredentials {
 public:
  using Complain = std::function<void(const absl::Status&)>;

  // `complain` hears of a bad set, once; what was in force stays.
  explicit ClientCredentials(ClientSecurity security, Complain complain = {});

  // Looks at the files, a few times a second at most. True: others are in force than before.
  bool Refresh() ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<grpc::Channel> MakeChannel(const std::string& server,
                                             const grpc::ChannelArguments& arguments) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // What one handshake with the server meets (TryHandshake); empty: nothing. Blocks.
  std::string WhyNot(const std::string& server) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ClientSecurity security_;
  const Complain complain_;
  mutable Mutex mutex_;
  Set set_ ABSL_GUARDED_BY(mutex_);
  std::string token_ ABSL_GUARDED_BY(mutex_);
  std::string stamp_ ABSL_GUARDED_BY(mutex_);
  int64_t looked_at_ms_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tensorhub::tls

#endif  // TENSORHUB_COMMON_TLS_CLIENT_SECURITY_H_
