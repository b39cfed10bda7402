// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/tcp/tcp_inbox.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/random.h"
#include "worker_agent/tcp/sockets.h"
#include "worker_agent/tcp/tcp_outbox.h"

namespace tensorhub::agent {
namespace {

class InboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    writer_ = Socket(ends[0]);
    reader_ = Socket(ends[1]);
  }
  void Write(std::string_view bytes) {
    ASSERT_EQ(write(writer_.fd(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  absl::Status Read() {
    const auto take = [this](auto header, auto payload) {
      messages_.emplace_back(header, payload);
      return true;
    };
    return inbox_.Read(reader_.fd(), 1 << 20, take).status();
  }
  static std::string Counts(uint32_t header, uint32_t payload) {
    std::string bytes;
    ByteWriter writer(bytes);
    writer.Put(header);
    writer.Put(payload);
    return bytes;
  }

  Socket writer_, reader_;
  TcpInbox inbox_;
  std::vector<std::pair<std::string, std::string>> messages_;
};

// Wherever the stream is cut, and however much comes at once.
TEST_F(InboxTest, MessagesAreWholeHoweverTheyCome) {
  Random random(7);
  std::vector<std::pair<std::string, std::string>> sent;
  std::string stream;
  for (int i = 0; i < 200; ++i) {
    const size_t sizes[] = {1, 8, 40, 4096, 70'000};
    const std::string header(sizes[random.Below(5)], static_cast<char>('a' + i % 26));
    const std::string payload(random.Below(2) == 0 ? 0 : random.Below(kMaxPayloadBytes + 1), 'p');
    stream += Counts(static_cast<uint32_t>(header.size()), static_cast<uint32_t>(payload.size()));
    stream += header + payload;
    sent.emplace_back(header, payload);
  }
  for (size_t at = 0; at < stream.size();) {
    const size_t bytes = 1 + random.Below(random.Below(3) == 0 ? 9 : 100'000);
    Write(std::string_view(stream).substr(at, bytes));
    at += bytes;
    if (at > stream.size()) break;
    ASSERT_EQ(Read(), absl::OkStatus());
  }
  ASSERT_EQ(Read(), absl::OkStatus());
  EXPECT_TRUE(messages_ == sent) << messages_.size();
}

// R9: nor is memory taken for what is only claimed.
TEST_F(InboxTest, WhatIsNoMessageIsRefused) {
  const uint32_t header_max = TcpInbox::kHeaderBytesMax;
  for (const auto& counts : {Counts(0, 5), Counts(header_max + 1, 0),
                             Counts(1, static_cast<uint32_t>(kMaxPayloadBytes) + 1)}) {
    SetUp();
    inbox_ = TcpInbox();
    Write(counts);
    EXPECT_EQ(Read().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(messages_.empty());
}

TEST_F(InboxTest, AnEndInTheMiddleIsNoMessage) {
  Write(Counts(4, 10) + "head" + "12345");
  ASSERT_EQ(Read(), absl::OkStatus());
  writer_.Close();
  EXPECT_EQ(Read().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(messages_.empty());
}

TEST_F(InboxTest, NothingIsHandedOnOnceItIsClosed) {
  Write(Counts(1, 0) + "a" + Counts(1, 0) + "b");
  int taken = 0;
  const auto read = inbox_.Read(reader_.fd(), 1 << 20, [&](auto, auto) { return ++taken > 1; });
  EXPECT_TRUE(read.ok() && *read > 0);
  EXPECT_EQ(taken, 1);
}

// A socket that takes little at a time: nothing twice, nothing left out.
TEST_F(InboxTest, AnOutboxGoesOnWhereTheSocketWasFull) {
  const int small = 4096;
  setsockopt(writer_.fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
  const std::string payload(200'000, 'x');
  const ConstPiece pieces[] = {
      {payload.data(), 100'000}, {nullptr, 0}, {payload.data() + 100'000, 100'000}};
  TcpOutbox outbox;
  for (uint64_t token = 1; token <= 3; ++token) outbox.Push("frame", pieces, token);
  std::vector<uint64_t> taken;
  bool cut = false;
  while (messages_.size() < 3) {
    ASSERT_TRUE(outbox.Flush(writer_.fd(), taken).ok());
    cut |= outbox.IsWithinMessage();
    ASSERT_EQ(Read(), absl::OkStatus());
  }
  EXPECT_TRUE(cut);
  EXPECT_EQ(taken, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(outbox.waiting_bytes(), 0u);
  for (const auto& message : messages_) EXPECT_TRUE(message.second == payload);
}

}  // namespace
}  // namespace tensorhub::agent
