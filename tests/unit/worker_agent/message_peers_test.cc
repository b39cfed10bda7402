// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Connections that end with a last word, on a transport that keeps it for as long as the test
// likes.

#include "worker_agent/transport/message_peers.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "worker_agent/core/peer_wire.h"
#include "worker_agent/memory/chunk_digest.h"

namespace tensorhub::agent {
namespace {

class HoldingTransport : public MessageTransport {
 public:
  std::string Address() const override { return "here"; }
  size_t MaxPayloadBytes() const override { return 1; }
  size_t WholePayloadBytes(PeerId /*peer*/) const override { return 1; }
  absl::StatusOr<PeerId> Connect(std::string_view /*address*/) override { return ++last_; }
  void Send(PeerId peer, std::string_view header, std::span<const ConstPiece> /*pieces*/,
            uint64_t token) override {
    sent.push_back(std::string(header) + " to " + std::to_string(peer));
    tokens.push_back(token);
  }
  void Close(PeerId peer) override { closed.push_back(peer); }
  void SelfTestReceive() override {}
  void Abandon() override {}
  std::string Describe(PeerId /*peer*/) const override { return ""; }
  std::string Summary() const override { return "none"; }
  bool Progress() override { return false; }
  int EventFd() const override { return -1; }
  bool Arm() override { return true; }

  std::vector<std::string> sent;
  std::vector<uint64_t> tokens;
  std::vector<PeerId> closed;

 private:
  PeerId last_ = 0;
};

class MessagePeersTest : public testing::Test {
 protected:
  MessagePeersTest() {
    peers_.Use(&transport_);
    peers_.Open({77, "there"});
    peers_.Part(77, "bye");
  }

  HoldingTransport transport_;
  std::vector<Event> events_;
  MessagePeers peers_{[this](const Event& event) { events_.push_back(event); },
                      [this](const Event& event) { events_.push_back(event); }};
};

TEST_F(MessagePeersTest, PartsWhenTheLastWordHasLeft) {
  EXPECT_EQ(transport_.sent, std::vector<std::string>{"bye to 1"});
  EXPECT_TRUE(transport_.closed.empty());
  peers_.OnSent(transport_.tokens.at(0), absl::OkStatus());
  EXPECT_EQ(transport_.closed, std::vector<PeerId>{1});
  EXPECT_TRUE(events_.empty()) << "the core has forgotten that peer";
}

TEST_F(MessagePeersTest, ANewConnectionIsNotTheOneThatEnds) {
  peers_.Open({77, "there"});
  peers_.OnSent(transport_.tokens.at(0), absl::OkStatus());
  EXPECT_EQ(transport_.closed, std::vector<PeerId>{1});
  peers_.Send(77, "hello", {}, 0);
  EXPECT_EQ(transport_.sent.back(), "hello to 2");
}

TEST_F(MessagePeersTest, TheEndDoesNotWaitForIt) {
  peers_.CloseAll();
  EXPECT_EQ(transport_.closed, std::vector<PeerId>{1});
  peers_.OnSent(transport_.tokens.at(0), absl::CancelledError("closed"));
  EXPECT_EQ(transport_.closed, std::vector<PeerId>{1});
}

std::string HashedPart(std::string_view payload) {
  PeerMessage part;
  part.kind = PeerKind::kPart;
  part.flags = kFlagHashed;
  part.from = 77;
  std::string header = Encode(part);
  const DigestPiece whole{payload.data(), payload.size()};
  SetPayloadDigest(ChunkDigest(&whole, 1), header);
  return header;
}

// R1: they never reach the core, which would copy them in.
TEST_F(MessagePeersTest, BytesThatChangedOnTheirWayFailTheirSender) {
  MessageTransport::Sink& sink = peers_;
  const std::string header = HashedPart("some bytes");
  sink.OnMessage(header, "some bytes");
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<MessageArrived>(events_.back()));
  sink.OnMessage(header, "same bytes");
  ASSERT_EQ(events_.size(), 2u);
  const auto& failed = std::get<PeerFailed>(events_.back());
  EXPECT_EQ(failed.peer, 77u);
  EXPECT_EQ(failed.status.code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tensorhub::agent
