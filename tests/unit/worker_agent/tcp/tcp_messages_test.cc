// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What message_transport_test does not have: how connections come to be, and who is turned away.

#include "worker_agent/tcp/tcp_messages.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstring>

#include "tests/unit/worker_agent/ucx/ucx_test_peer.h"

namespace tensorhub::agent {
namespace {

const std::string kLoopback("\x7f\0\0\x01", 4);

struct End {
  explicit End(const PortRange& ports = {}) {
    transport = TcpMessages::Create(&sink, {"lo", kLoopback, kLoopback, ports}).value();
  }
  TcpAddress address() const { return DecodeTcpAddress(transport->Address()).value(); }
  RecordingMessages sink;
  std::unique_ptr<TcpMessages> transport;
};

// A program that is no worker; it blocks.
Socket Stranger(const TcpAddress& at) {
  Socket stranger(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(at.port);
  std::memcpy(&to.sin_addr, at.host.data(), 4);
  EXPECT_EQ(connect(stranger.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  return stranger;
}

bool HasEnded(const Socket& socket) {
  pollfd fd = {socket.fd(), POLLIN, 0};
  char byte;
  return poll(&fd, 1, 0) == 1 && recv(socket.fd(), &byte, 1, 0) <= 0;
}

TEST(TcpMessages, ASourceNeverDialsBack) {
  End reader, source;
  const PeerId to_source = reader.transport->Connect(source.transport->Address()).value();
  reader.transport->Send(to_source, "open", {}, 1);
  ASSERT_TRUE(ProgressUntil([&] { return !source.sink.messages.empty(); }, *reader.transport,
                            *source.transport));
  // Where the reader is said to be, nobody listens.
  TcpAddress unreachable = reader.address();
  unreachable.port = 1;
  const PeerId back = source.transport->Connect(Encode(unreachable)).value();
  source.transport->Send(back, "frame", {}, 2);
  ASSERT_TRUE(ProgressUntil([&] { return !reader.sink.messages.empty(); }, *reader.transport,
                            *source.transport));
  EXPECT_EQ(reader.sink.messages[0].first, "frame");
}

TEST(TcpMessages, TheLastWordBeforeACloseIsHeard) {
  End one, other;
  const PeerId peer = one.transport->Connect(other.transport->Address()).value();
  one.transport->Send(peer, "first", {}, 1);
  ASSERT_TRUE(ProgressUntil([&] { return !other.sink.messages.empty(); }, *one.transport,
                            *other.transport));
  const PeerId back = other.transport->Connect(one.transport->Address()).value();
  other.transport->Send(back, "unread", {}, 1);
  one.transport->Send(peer, "the last", {}, 2);
  one.transport->Close(peer);
  ASSERT_TRUE(
      ProgressUntil([&] { return !other.sink.failed.empty(); }, *one.transport, *other.transport));
  EXPECT_EQ(other.sink.messages.back().first, "the last");
  EXPECT_EQ(other.sink.failed[0].second.code(), absl::StatusCode::kUnavailable);
}

TEST(TcpMessages, AnotherWorkerAtThatAddressIsNotTakenForIt) {
  End one, other;
  TcpAddress gone = other.address();
  gone.identity = NewIdentity();
  const PeerId peer = one.transport->Connect(Encode(gone)).value();
  one.transport->Send(peer, "for somebody else", {}, 1);
  ASSERT_TRUE(
      ProgressUntil([&] { return !one.sink.failed.empty(); }, *one.transport, *other.transport));
  EXPECT_EQ(one.sink.failed[0].first, peer);
  EXPECT_NE(one.sink.failed[0].second.message().find("another worker answers there"),
            std::string::npos);
  EXPECT_TRUE(other.sink.messages.empty());
  EXPECT_GT(other.transport->refused(), 1u) << "dialled once only";
}

TEST(TcpMessages, WhereNobodyListensItFails) {
  End one;
  TcpAddress nobody = one.address();
  nobody.port = 1;
  const PeerId peer = one.transport->Connect(Encode(nobody)).value();
  one.transport->Send(peer, "lost", {}, 1);
  ASSERT_TRUE(ProgressUntil([&] { return !one.sink.failed.empty(); }, *one.transport));
  EXPECT_EQ(one.sink.failed[0].first, peer);
  EXPECT_NE(one.sink.failed[0].second.message().find("127.0.0.1:1: "), std::string::npos);
  EXPECT_FALSE(one.sink.sent.at(1).ok());
}

TEST(TcpMessages, GarbageIsTurnedAwayAndCounted) {
  End one;
  const Socket stranger = Stranger(one.address());
  ASSERT_EQ(send(stranger.fd(), "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
  ASSERT_TRUE(ProgressUntil([&] { return HasEnded(stranger); }, *one.transport));
  EXPECT_EQ(one.transport->refused(), 1u);
  // After a hello that is right, too.
  const Socket member = Stranger(one.address());
  const std::string hello = Encode(Hello{one.address().identity, NewIdentity()});
  const std::string words = hello + std::string(8, '\xff');
  ASSERT_EQ(send(member.fd(), words.data(), words.size(), 0), static_cast<ssize_t>(words.size()));
  ASSERT_TRUE(ProgressUntil([&] { return one.transport->refused() == 2; }, *one.transport));
  EXPECT_TRUE(one.sink.messages.empty());
}

// A dial beside another may be welcome, too, before its maker drops it: nothing is said there.
TEST(TcpMessages, AnAnswerGoesWhereTheQuestionCameFrom) {
  End source;
  TcpAddress asker = source.address();
  asker.identity = NewIdentity();
  asker.port = 1;
  const std::string hello = Encode(Hello{source.address().identity, asker.identity});
  const Socket used = Stranger(source.address()), unused = Stranger(source.address());
  for (const Socket* socket : {&used, &unused}) {
    ASSERT_EQ(send(socket->fd(), hello.data(), hello.size(), 0),
              static_cast<ssize_t>(hello.size()));
    char verdict[kVerdictBytes];
    const auto welcome = [&] {
      return recv(socket->fd(), verdict, sizeof(verdict), MSG_DONTWAIT) > 0;
    };
    ASSERT_TRUE(ProgressUntil(welcome, *source.transport));
  }
  const std::string question("\x01\0\0\0\0\0\0\0?", 9);
  ASSERT_EQ(send(used.fd(), question.data(), question.size(), 0), 9);
  ASSERT_TRUE(ProgressUntil([&] { return !source.sink.messages.empty(); }, *source.transport));
  const PeerId back = source.transport->Connect(Encode(asker)).value();
  source.transport->Send(back, "!", {}, 1);
  char answer[9];
  const auto answered = [&] {
    return recv(used.fd(), answer, sizeof(answer), MSG_DONTWAIT | MSG_PEEK) == 9;
  };
  EXPECT_TRUE(ProgressUntil(answered, *source.transport));
  EXPECT_EQ(answer[8], '!');
}

// R9: the oldest has to go; a worker among them gets in.
TEST(TcpMessages, StrangersThatSayNothingKeepNobodyOut) {
  End one, worker;
  std::vector<Socket> silent;
  for (int i = 0; i < 700; ++i) {
    silent.push_back(Stranger(one.address()));
    one.transport->Progress();
  }
  ASSERT_TRUE(ProgressUntil([&] { return HasEnded(silent[0]); }, *one.transport));
  const PeerId peer = worker.transport->Connect(one.transport->Address()).value();
  worker.transport->Send(peer, "hello", {}, 1);
  EXPECT_TRUE(
      ProgressUntil([&] { return !one.sink.messages.empty(); }, *one.transport, *worker.transport));
}

TEST(TcpMessages, WhoeverIsOutOfDescriptorsSaysSo) {
  End one, other;
  const PeerId peer = one.transport->Connect(other.transport->Address()).value();
  one.transport->Send(peer, "hello", {}, 1);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {static_cast<rlim_t>(dup(0)), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  close(static_cast<int>(few.rlim_cur));
  // The number that is free again is the limit: no descriptor is left.
  const bool failed =
      ProgressUntil([&] { return !one.sink.failed.empty(); }, *one.transport, *other.transport);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(failed);
  EXPECT_NE(one.sink.failed[0].second.message().find("ulimit -n"), std::string::npos);
  one.transport->Close(peer);
  const PeerId again = one.transport->Connect(other.transport->Address()).value();
  one.transport->Send(again, "again", {}, 2);
  EXPECT_TRUE(ProgressUntil([&] { return !other.sink.messages.empty(); }, *one.transport,
                            *other.transport));
}

TEST(TcpMessages, PortsAreOfTheRangeAndMayBeUsedUp) {
  uint16_t port = 0;
  {
    const End any;
    port = any.address().port;
  }
  const End first({port, port});
  EXPECT_EQ(first.address().port, port);
  RecordingMessages sink;
  const auto second = TcpMessages::Create(&sink, {"lo", kLoopback, kLoopback, {port, port}});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(second.status().message().find("give it a wider range"), std::string::npos);
}

// One-to-one NAT: peers are told an address that this host does not have.
TEST(TcpMessages, WhatPeersAreToldIsNotWhereItListens) {
  RecordingMessages sink;
  const std::string told("\xc0\x00\x02\x07", 4);
  auto one = TcpMessages::Create(&sink, {"nat", "", told, {}}).value();
  TcpAddress address = DecodeTcpAddress(one->Address()).value();
  EXPECT_EQ(address.host, told);
  address.host = kLoopback;  // the router's part
  End other;
  const PeerId peer = other.transport->Connect(Encode(address)).value();
  other.transport->Send(peer, "through the router", {}, 1);
  EXPECT_TRUE(ProgressUntil([&] { return !sink.messages.empty(); }, *one, *other.transport));
}

}  // namespace
}  // namespace tensorhub::agent
