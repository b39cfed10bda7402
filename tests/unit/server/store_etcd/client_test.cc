// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/client.h"

#include <arpa/inet.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace tensorhub::store {
namespace {

// A member that takes connections and says nothing.
class SilentMember {
 public:
  SilentMember() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_, any, size), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    EXPECT_EQ(getsockname(fd_, any, &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  ~SilentMember() { close(fd_); }
  SilentMember(const SilentMember&) = delete;
  SilentMember& operator=(const SilentMember&) = delete;

  const std::string& address() const { return address_; }
  // Whether somebody has connected who was not counted yet.
  bool WasCalled() const {
    const int connection = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) close(connection);
    return connection >= 0;
  }

 private:
  const int fd_;
  std::string address_;
};

// Looking why TLS fails takes a second for each member that says nothing. A call that failed once,
// as while a member is restarted, is made again before that.
TEST(EtcdClientTest, NobodyLooksWhyAtTheFirstFailure) {
  const SilentMember member;
  EtcdClient::Options options;
  options.endpoints = {member.address()};
  options.tls.ca = "absent.pem";
  EtcdClient client(options);
  int tries = 0;
  const absl::Status status = client.Repeat("a test", [&] {
    if (++tries == 2) {
      EXPECT_FALSE(member.WasCalled());
    }
    return tries < 12 ? absl::UnavailableError("no answer") : absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(member.WasCalled()) << "after that somebody does";
}

// A member of etcd without a quorum, whose patience ends as its client's does.
class GivesUp : public etcd::KV::Service {
 public:
  grpc::Status Range(grpc::ServerContext*, const etcd::RangeRequest*,
                     etcd::RangeResponse*) override {
    return grpc::Status(grpc::StatusCode::UNKNOWN, "context deadline exceeded");
  }
};

// A server that stood by took it for etcd's refusal, and ended.
TEST(EtcdClientTest, AMemberThatGivesUpHasNotAnswered) {
  GivesUp member;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&member);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  EtcdClient::Options options;
  options.endpoints = {absl::StrCat("127.0.0.1:", port)};
  EtcdClient client(options);
  const absl::Status status = client.Range({}).status();
  EXPECT_TRUE(MayPass(status)) << status;
  server->Shutdown();
}

}  // namespace
}  // namespace tensorhub::store
