// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/tls/client_security.h"

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/server_choice.h"
#include "common/tls/handshake.h"

namespace tensorhub::tls {
namespace {

constexpr int64_t kLookEveryMs = 200;

int64_t SteadyMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::string OrVariable(const std::string& value, const char* name) {
  const char* const set = std::getenv(name);
  return value.empty() && set != nullptr ? set : value;
}

absl::Status BadToken(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("token file ", path, ": ", what));
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  if (path.empty()) return std::string();
  absl::StatusOr<std::string> text = ReadSmallFile(path);
  if (!text.ok()) return BadToken(path, std::string(text.status().message()));
  const std::string token(absl::StripAsciiWhitespace(*text));
  const bool plain = std::all_of(token.begin(), token.end(), absl::ascii_isgraph);
  if (token.empty() || !plain) {
    return BadToken(path, "is not one line of printable ASCII without a space");
  }
  return token;
}

// Says the token with each call. gRPC's own call credentials refuse plain connections, also on the
// loopback; Check is what keeps a token from others.
class TokenInterceptor : public grpc::experimental::Interceptor {
 public:
  explicit TokenInterceptor(std::string header) : header_(std::move(header)) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace("authorization", header_);
    }
    methods->Proceed();
  }

 private:
  const std::string header_;
};

class TokenInterceptors : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit TokenInterceptors(const std::string& token) : header_("Bearer " + token) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* /*info*/) override {
    return new TokenInterceptor(header_);  // gRPC's
  }

 private:
  const std::string header_;
};

}  // namespace

ClientSecurity ClientSecurity::OrEnvironment() const {
  return {.tls = {.ca = OrVariable(tls.ca, "TENSORHUB_TLS_CA"),
                  .cert = OrVariable(tls.cert, "TENSORHUB_TLS_CERT"),
                  .key = OrVariable(tls.key, "TENSORHUB_TLS_KEY")},
          .token_file = OrVariable(token_file, "TENSORHUB_TOKEN_FILE")};
}

// "127.example.org" is a name, of anybody.
bool IsLoopback(const std::string& server) {
  const std::string host = server.substr(0, server.rfind(':'));
  in_addr address{};
  const bool local = inet_pton(AF_INET, host.c_str(), &address) == 1 &&
                     ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
  return host == "localhost" || host == "[::1]" || host == "::1" || local;
}

absl::Status Check(const ClientSecurity& security, const std::string& server) {
  absl::Status status = Load(security.tls, Side::kClient, SecondsNow()).status();
  if (status.ok()) status = ReadToken(security.token_file).status();
  if (!status.ok() || security.token_file.empty() || security.tls.any()) return status;
  const std::vector<std::string> servers = ServersOf(server);
  if (std::all_of(servers.begin(), servers.end(), IsLoopback)) return status;
  return BadToken(security.token_file,
                  "a token goes to other hosts over TLS only; name the TLS authorities as well");
}

ClientCredentials::ClientCredentials(ClientSecurity security, Complain complain)
    : security_(std::move(security)), complain_(std::move(complain)) {
  Refresh();
}

absl::Status ClientCredentials::Read() {
  absl::StatusOr<Set> set = Load(security_.tls, Side::kClient, SecondsNow());
  if (!set.ok()) return set.status();
  absl::StatusOr<std::string> token = ReadToken(security_.token_file);
  if (!token.ok()) return token.status();
  set_ = *std::move(set);
  token_ = *std::move(token);
  return absl::OkStatus();
}

bool ClientCredentials::Refresh() {
  if (security_ == ClientSecurity()) return false;
  absl::Status status;
  {
    MutexLock lock(mutex_);
    if (looked_at_ms_ != 0 && SteadyMs() < looked_at_ms_ + kLookEveryMs) return false;
    looked_at_ms_ = SteadyMs();
    std::vector<std::string> paths = security_.tls.Paths();
    paths.push_back(security_.token_file);
    std::string stamp = StampOf(paths);
    if (stamp == stamp_) return false;
    stamp_ = std::move(stamp);
    status = Read();
  }
  if (!status.ok() && complain_) complain_(status);
  return status.ok();
}

std::shared_ptr<grpc::Channel> ClientCredentials::MakeChannel(
    const std::string& server, const grpc::ChannelArguments& arguments) const {
  MutexLock lock(mutex_);
  const std::shared_ptr<grpc::ChannelCredentials> credentials =
      security_.tls.any() ? grpc::SslCredentials({set_.ca, set_.key, set_.cert})
                          : grpc::InsecureChannelCredentials();
  if (token_.empty()) return grpc::CreateCustomChannel(server, credentials, arguments);
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<TokenInterceptors>(token_));
  return grpc::experimental::CreateCustomChannelWithInterceptors(server, credentials, arguments,
                                                                 std::move(interceptors));
}

std::string ClientCredentials::WhyNot(const std::string& server) const {
  std::optional<Set> set;
  {
    MutexLock lock(mutex_);
    if (security_.tls.any()) set = set_;
  }
  return TryHandshake(server, set ? &*set : nullptr).problem;
}

}  // namespace tensorhub::tls
