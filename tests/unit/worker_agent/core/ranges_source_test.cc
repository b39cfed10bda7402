// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A source whose reader names ranges of its bytes: what it sends, when, and what it refuses.

#include "tests/unit/worker_agent/core/world.h"
#include "worker_agent/core/wanted_ranges.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

constexpr Incarnation kReader = 7777;

class RangesSource : public ::testing::Test {
 protected:
  PeerMessage Message(PeerKind kind) {
    PeerMessage message;
    message.kind = kind;
    message.from = kReader;
    message.read = 1;
    message.generation = world_.at(source_).word.generation;
    message.publication = world_.hub.PublicationOf(5);
    return message;
  }
  void Open(uint8_t flags = kFlagHashed) {
    PeerMessage open = Message(PeerKind::kOpenRanges);
    open.chunk_bytes = 4096;
    open.flags = flags;
    open.text = "somewhere";
    world_.Hear(source_, open);
  }
  void Want(const std::vector<WantedRange>& ranges) {
    PeerMessage want = Message(PeerKind::kWant);
    want.text = EncodeRanges(ranges);
    world_.Hear(source_, want);
    for (const WantedRange& range : ranges) {
      for (uint64_t run = 0; run < range.count; ++run) {
        wanted_ += world_.Content(5).substr(range.begin + run * range.stride, range.run);
      }
    }
  }
  // Takes what was sent, and holds each part against what it claims to be.
  void Take() {
    for (const SentToStranger& sent : std::exchange(world_.network.strangers, {})) {
      const auto message = DecodePeerMessage(sent.header);
      ASSERT_TRUE(message);
      if (message->kind == PeerKind::kRefuse) refused_ = static_cast<StatusCode>(message->code);
      if (message->kind != PeerKind::kPart && message->kind != PeerKind::kStand) continue;
      EXPECT_LE(proven_, message->proven);
      proven_ = message->proven;
      available_ = message->available;
      if (message->kind == PeerKind::kStand) continue;
      EXPECT_EQ(message->begin, got_.size());
      EXPECT_LE(proven_, got_.size());
      EXPECT_LE(got_.size() + sent.payload.size(), message->available);
      if ((message->flags & kFlagHashed) != 0) {
        EXPECT_EQ(message->digest, ChunkHash(sent.payload, 0, sent.payload.size()));
        ++hashed_;
      }
      got_ += sent.payload;
    }
  }
  StatusCode RefusalOf(const std::vector<WantedRange>& ranges) {
    refused_ = StatusCode::kOk;
    Open();
    Want(ranges);
    Take();
    return refused_;
  }

  World world_{{.workers = 3}};
  size_t source_ = 0;
  std::string wanted_;
  std::string got_;
  uint64_t proven_ = 0;
  uint64_t available_ = 0;
  size_t hashed_ = 0;
  StatusCode refused_ = StatusCode::kOk;
};

TEST_F(RangesSource, SendsWhatIsWantedAndProvesIt) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  Open();
  Want({{100, 50, 0, 1}, {4000, 30, 100, 40}});
  world_.RunFor(100);
  Take();
  Want({{9000, 9000, 0, 1}});
  world_.RunFor(100);
  Take();
  Want({{0, 5, 0, 1}});
  world_.RunFor(2000);
  Take();
  EXPECT_EQ(got_, wanted_);
  EXPECT_EQ(proven_, wanted_.size());
  EXPECT_EQ(available_, wanted_.size());
  EXPECT_GE(hashed_, 3u);
  EXPECT_EQ(refused_, StatusCode::kOk);
}

// A message of its own for each would cost more than what is in it.
TEST_F(RangesSource, SendsShortRunsTogether) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  Open();
  Want({{100, 2, 5, 40}, {4000, 3, 10, 40}});
  world_.RunFor(100);
  Take();
  EXPECT_EQ(got_, wanted_);
  EXPECT_EQ(proven_, wanted_.size());
  EXPECT_EQ(hashed_, 1u);
}

TEST_F(RangesSource, HashesNothingForWhoeverDoesNotCheck) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  Open(/*flags=*/0);
  Want({{0, 9000, 0, 1}});
  world_.RunFor(100);
  Take();
  EXPECT_EQ(got_, wanted_);
  EXPECT_EQ(hashed_, 0u);
}

// R4: the whole of a part lies below the source's prefix, and what is said of that is true.
TEST_F(RangesSource, SendsNothingThatItDoesNotHaveYet) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  source_ = 1;
  world_.Ask(1, FetchVerb{});
  ASSERT_TRUE(world_.Run([&] { return world_.at(1).word.valid_chunks >= 1; }));
  Open();
  Want({{0, 1000, 1500, 24}});
  while (!world_.Idle(1)) {
    const uint64_t valid = world_.at(1).word.valid_chunks * 4096;
    Take();
    EXPECT_LE(available_, valid / 1500 * 1000 + 1000);
    world_.RunFor(1);
  }
  world_.RunFor(1000);
  Take();
  EXPECT_EQ(got_, wanted_);
  EXPECT_EQ(proven_, wanted_.size());
}

TEST_F(RangesSource, RefusesWhatItsShardDoesNotHave) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  const uint64_t total = world_.Content(5).size();
  EXPECT_EQ(RefusalOf({{total - 10, 11, 0, 1}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(RefusalOf({{0, 1, total, 2}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(RefusalOf({{5, 5, 0, 1}, {5, 5, 0, 1}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(RefusalOf({{5, 0, 0, 1}}), StatusCode::kInvalidArgument);
  EXPECT_TRUE(got_.empty());
  world_.RunFor(1000);
  Take();
  EXPECT_TRUE(got_.empty()) << "a read that was refused is over";
}

TEST_F(RangesSource, RefusesMoreThanItCanRemember) {
  world_.hub.visible_at_once = true;
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  source_ = 1;
  world_.Ask(1, FetchVerb{});
  ASSERT_TRUE(world_.Run([&] { return world_.at(1).word.valid_chunks >= 1; }));
  world_.schedule.Pause(0);
  Open();
  uint64_t at = 4 * 4096;
  size_t messages = 0;
  while (refused_ == StatusCode::kOk && messages < 100) {
    std::vector<WantedRange> ranges;
    for (size_t i = 0; i < kRangesPerMessage; ++i, at += 2) ranges.push_back({at, 1, 0, 1});
    Want(ranges);
    Take();
    ++messages;
  }
  EXPECT_EQ(refused_, StatusCode::kInvalidArgument);
  EXPECT_EQ(messages, RangeQueue::kRangesMax / kRangesPerMessage + 1);
  world_.schedule.Resume(0);
}

TEST_F(RangesSource, EndsTheReadBeforeItsBytesChange) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  Open();
  Want({{0, 4096, 0, 1}});
  const uint64_t proven_by_then = proven_;
  ASSERT_TRUE(world_.Do(0, UnpublishVerb{}).ok());
  world_.RunFor(1000);
  Take();
  EXPECT_EQ(refused_, StatusCode::kAborted);
  Open();
  Take();
  EXPECT_EQ(refused_, StatusCode::kAborted) << "nor does it take another";
  EXPECT_LE(proven_by_then, proven_);
}

// Its reader needs a sign of life, as any other.
TEST_F(RangesSource, SaysThatItLives) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  Open();
  world_.RunFor(300);
  const std::vector<PeerMessage> said = world_.Heard(kReader);
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.back().kind, PeerKind::kStand);
  EXPECT_EQ(said.back().available, 0u);
}

TEST_F(RangesSource, TakesNoRangesForAReadOfChunks) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  PeerMessage open = Message(PeerKind::kOpen);
  open.chunk_bytes = 4096;
  open.text = "somewhere";
  world_.Hear(0, open);
  Want({{0, 10, 0, 1}});
  world_.RunFor(100);
  Take();
  EXPECT_TRUE(got_.empty());
}

}  // namespace
}  // namespace tensorhub::agent::testing
