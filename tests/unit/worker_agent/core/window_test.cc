// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How much a reader keeps requested: enough for the way to its source, and no more.

#include <algorithm>

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

constexpr Incarnation kSource = 7777;
constexpr uint32_t kChunks = 200;
constexpr uint64_t kChunkBytes = 4096;

// Plays a source that has everything.
class Window : public ::testing::Test {
 protected:
  Window() {
    world_.hub.script = [this](size_t worker, const Call& call) {
      if (std::holds_alternative<protocol::JoinFetch>(call.request)) {
        world_.hub.Reply(worker, call.op, absl::OkStatus(),
                         FetchDecision{{1, 1}, {2, 2}, 5, 1, kChunkBytes});
      } else {
        world_.hub.Reply(worker, call.op, absl::OkStatus());
      }
      return true;
    };
    world_.Ask(0, FetchVerb{});
    world_.RunFor(20);
    protocol::Assign assign;
    assign.transaction = {1, 1};
    assign.assignment = 1;
    assign.source.key = {"m", "x", 0};
    assign.source.incarnation = kSource;
    assign.generation = 42;
    assign.publication = {2, 2};
    world_.Deliver(0, assign);
    Listen();
  }
  void Listen() {
    for (const PeerMessage& message : world_.Heard(kSource)) {
      if (message.kind == PeerKind::kOpen) read_ = message.read;
      if (message.kind == PeerKind::kRequest) credit_ = message.chunk;
    }
  }
  PeerMessage Message(PeerKind kind, uint32_t confirmed) const {
    PeerMessage message;
    message.kind = kind;
    message.from = kSource;
    message.read = read_;
    message.generation = 42;
    message.valid = kChunks;
    message.confirmed = confirmed;
    return message;
  }
  // Sends chunks below `end`, then confirms them.
  void Send(uint32_t end) {
    const uint32_t confirmed = sent_;
    for (; sent_ < end; ++sent_) {
      PeerMessage data = Message(PeerKind::kData, confirmed);
      data.begin = sent_ * kChunkBytes;
      world_.Hear(0, data, std::string_view(world_.Content(5)).substr(data.begin, kChunkBytes));
    }
    world_.Hear(0, Message(PeerKind::kConfirm, sent_));
    Listen();
  }
  uint32_t ahead() const { return credit_ - sent_; }

  World world_{{.workers = 1, .chunk_bytes = kChunkBytes, .total_bytes = kChunks * kChunkBytes}};
  uint64_t read_ = 0;
  uint32_t credit_ = 0;
  uint32_t sent_ = 0;
};

TEST_F(Window, StaysWhereTheSourceIsNeverIdle) {
  ASSERT_EQ(ahead(), 3u);  // the world's setting
  while (sent_ < kChunks - 10) {
    Send(sent_ + 1);
    EXPECT_LE(ahead(), 3u);
    EXPECT_GE(ahead(), 1u);
  }
}

TEST_F(Window, WidensWhileTheSourceRunsDry) {
  const uint32_t before = ahead();
  Send(credit_);
  EXPECT_GE(ahead(), 2 * before);
  Send(credit_);
  EXPECT_GE(ahead(), 4 * before);
}

TEST_F(Window, IsBounded) {
  while (credit_ < kChunks) {
    Send(credit_);
    EXPECT_LE(ahead(), 24u) << "eight times what it was at first";
  }
}

// The source is told at once: what was asked for may be the rest of the shard.
TEST_F(Window, TheReaderSaysHowLongAFrameItsConnectionCarries) {
  world_.Deliver(0, PathKnown{kSource + 1, 99});
  EXPECT_TRUE(world_.Heard(kSource).empty()) << "of another peer";
  world_.Deliver(0, PathKnown{kSource, 1234});
  const std::vector<PeerMessage> said = world_.Heard(kSource);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].kind, PeerKind::kRequest);
  EXPECT_EQ(said[0].chunk, credit_);
  EXPECT_EQ(said[0].begin, 1234u);
}

// Also where that is known only behind the last byte; the log has it once.
TEST_F(Window, TheOwnerHearsHowTheBytesCame) {
  world_.Deliver(0, PathKnown{kSource, 1234, "served over tcp/eth0"});
  world_.Deliver(0, PathKnown{kSource + 1, 99, "by another peer"});
  world_.Deliver(0, PathKnown{kSource, 1234, "served over tcp/eth0"});
  while (sent_ < kChunks) Send(credit_);
  world_.Deliver(0, PathKnown{kSource, 1234, "served over sysv"});
  ASSERT_TRUE(world_.Finish(0).ok());
  EXPECT_EQ(world_.at(0).done.back().fetch.way, "served over sysv");
  const auto& log = world_.at(0).log;
  EXPECT_EQ(std::count_if(log.begin(), log.end(),
                          [](const std::string& line) {
                            return line.find(" reads m/x/0: served over ") != std::string::npos;
                          }),
            2);
}

TEST_F(Window, TheHubHearsHowTheBytesCome) {
  world_.Deliver(0, PathKnown{kSource + 1, 99, "by another peer"});
  world_.Deliver(0, PathKnown{kSource, 1234, "served over tcp/eth0"});
  world_.hub.said.clear();
  Send(credit_);
  world_.RunFor(700);
  Send(credit_);
  std::vector<std::string> ways;
  for (const auto& [worker, message] : world_.hub.said) {
    const auto* report = std::get_if<protocol::Progress>(&message);
    if (report != nullptr) ways.push_back(report->way);
  }
  ASSERT_FALSE(ways.empty());
  EXPECT_EQ(ways.back(), "served over tcp/eth0");
}

}  // namespace
}  // namespace tensorhub::agent::testing
