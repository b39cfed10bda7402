// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Callers that send a part of a request and no more. No gRPC client does that, so they are sockets
// that speak as much HTTP/2 as it takes.

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "tests/unit/server/rpc/server_fixture.h"

namespace tensorhub::rpc {
namespace {

using std::chrono::milliseconds;

std::string Frame(char kind, char flags, char stream, const std::string& payload) {
  const size_t size = payload.size();
  return std::string{static_cast<char>(size >> 16),
                     static_cast<char>(size >> 8),
                     static_cast<char>(size),
                     kind,
                     flags,
                     0,
                     0,
                     0,
                     stream} +
         payload;
}

std::string Header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

// A call of `method` whose request is to have a MiB, of which so many bytes come. More than 60,000
// would have to wait for the server's leave.
std::string Part(const std::string& method, size_t bytes) {
  const std::string headers = Header(":method", "POST") + Header(":scheme", "http") +
                              Header(":path", method) + Header(":authority", "hub") +
                              Header("te", "trailers") + Header("content-type", "application/grpc");
  std::string all =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, 0, "") + Frame(1, 4, 1, headers);
  const std::string message = std::string{0, 0, 0x10, 0, 0} + std::string(bytes, 'x');
  for (size_t at = 0; at < message.size(); at += 16384) {
    all += Frame(0, 0, 1, message.substr(at, 16384));
  }
  return all;
}

class PartCall {
 public:
  PartCall(uint16_t port, const std::string& method, size_t bytes)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string all = Part(method, bytes);
    over_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
            send(socket_, all.data(), all.size(), MSG_NOSIGNAL) < 0;
  }
  ~PartCall() { close(socket_); }
  PartCall(const PartCall&) = delete;
  PartCall& operator=(const PartCall&) = delete;

  // The server has ended the call (RST_STREAM, or HEADERS, which are its last) or the connection.
  bool IsOver() {
    std::array<char, 4096> buffer = {};
    for (pollfd ready{socket_, POLLIN, 0}; !over_ && poll(&ready, 1, 0) == 1;) {
      const ssize_t size = recv(socket_, buffer.data(), buffer.size(), 0);
      if (size <= 0) return over_ = true;
      received_.append(buffer.data(), static_cast<size_t>(size));
      TakeFrames();
    }
    return over_;
  }

 private:
  void TakeFrames() {
    while (received_.size() >= 9) {
      const auto byte = [this](size_t at) { return static_cast<uint8_t>(received_[at]); };
      const size_t size = 9 + (size_t{byte(0)} << 16) + (size_t{byte(1)} << 8) + byte(2);
      if (received_.size() < size) return;
      over_ = over_ || byte(3) == 1 || byte(3) == 3 || byte(3) == 7;
      received_.erase(0, size);
    }
  }

  const int socket_;
  std::string received_;
  bool over_ = false;
};

class UnfinishedTest : public ServerTest {
 protected:
  void SetUp() override {}  // each starts its own
  void Start(const RpcServer::Options& options) {
    auto server = RpcServer::Start(options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ =
        grpc::CreateChannel(server_->address().ToString(), grpc::InsecureChannelCredentials());
    admin_ = v1::Admin::NewStub(channel_);
  }
  PartCall& Call(const std::string& method, size_t bytes) {
    calls_.push_back(std::make_unique<PartCall>(server_->address().port, method, bytes));
    return *calls_.back();
  }

  std::vector<std::unique_ptr<PartCall>> calls_;
};

// Calls that are whole have to come within this time on a busy machine.
constexpr milliseconds kRequestPatience(2000);

TEST_F(UnfinishedTest, WhoStopsInTheMiddleIsHungUpOn) {
  RpcServer::Options options = DefaultOptions();
  options.request_patience = kRequestPatience;
  Start(options);
  for (const char* method : {"Hub/Session", "Hub/PutLayout", "Hub/PutAttachment", "Hub/Publish",
                             "Hub/Leave", "Admin/Rewind"}) {
    Call(std::string("/tensorhub.v1.") + method, 50'000);
  }
  for (const auto& call : calls_) EXPECT_TRUE(Eventually([&] { return call->IsOver(); }));
  EXPECT_EQ(Trainer(1)->received().has_welcome(), true);
}

TEST_F(UnfinishedTest, WhoGoesOnIsNot) {
  RpcServer::Options options = DefaultOptions();
  options.request_patience = kRequestPatience;
  Start(options);
  const auto trainer = Trainer(1);
  v1::WaitForVersionResponse response;
  EXPECT_EQ(trainer->Wait(1, kRequestPatience + milliseconds(500), &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  v1::PublishResponse published;
  EXPECT_TRUE(trainer->Publish(1, &published).ok());
}

TEST_F(UnfinishedTest, WhatIsReceivedHasABound) {
  RpcServer::Options options = DefaultOptions();
  options.receive_bytes_max = 4 << 20;
  Start(options);
  for (int i = 0; i < 200; ++i) Call("/tensorhub.v1.Hub/PutLayout", 60'000);
  const auto held = [this] {
    return std::count_if(calls_.begin(), calls_.end(),
                         [](const auto& call) { return !call->IsOver(); });
  };
  EXPECT_TRUE(Eventually([&] { return held() < 100; })) << held();
  calls_.clear();
  EXPECT_TRUE(Eventually([this] {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetStatusResponse response;
    return admin_->GetStatus(&context, {}, &response).ok();
  }));
}

}  // namespace
}  // namespace tensorhub::rpc
