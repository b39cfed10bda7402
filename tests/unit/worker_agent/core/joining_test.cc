// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R1: publishing a number that exists, and reading what has an identity. The hub's part is played
// by a script.
// Covers: R1.3, R1.9

#include <optional>
#include <string>

#include "common/content_identity.h"
#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

// Worker 0 publishes first; whoever comes after it is compared with what it has hashed.
class JoiningTest : public ::testing::Test {
 protected:
  JoiningTest() : world_({.workers = 3, .digests = DigestMode::kOn}) {
    world_.hub.script = [this](size_t worker, const Call& call) {
      const auto* publish = std::get_if<protocol::Publish>(&call.request);
      if (publish == nullptr || worker == 0) return false;
      if (!publish->digest) return TellToCompare(worker, call.op);
      const bool same = publish->digest == Hashed();
      EXPECT_EQ(publish->compared, world_.hub.PublicationOf(5));
      if (same) return false;
      world_.hub.Reply(worker, call.op, absl::AlreadyExistsError("other bytes: shard 0 differs"));
      return true;
    };
  }

  bool TellToCompare(size_t worker, OpId op) {
    PublishReply reply{world_.hub.PublicationOf(5), 4096, false};
    reply.compare = true;
    if (holder_can_be_asked_) {
      reply.with.holder = world_.at(0).options.self;
      reply.with.endpoint = Network::EndpointOf(0);
      reply.with.generation = world_.at(0).word.generation;
    }
    world_.hub.Reply(worker, op, absl::OkStatus(), reply);
    return true;
  }

  // What the first publisher has said.
  ContentDigest Hashed() const {
    ContentDigest digest;
    for (const auto& [worker, message] : world_.hub.said) {
      const auto* hashed = std::get_if<protocol::ContentHashed>(&message);
      if (hashed != nullptr && worker == 0) digest = hashed->digest;
    }
    return digest;
  }

  void PublishFirst() {
    ASSERT_TRUE(world_.Publish(0, 5).ok());
    ASSERT_TRUE(world_.Run([&] { return static_cast<bool>(Hashed()); }));
  }

  World world_;
  bool holder_can_be_asked_ = true;
};

TEST_F(JoiningTest, HoldsWhatIsTheSame) {
  PublishFirst();
  EXPECT_EQ(world_.Publish(1, 5), absl::OkStatus());
  EXPECT_TRUE(world_.Holds(1, 5));
  EXPECT_EQ(world_.at(1).core->Report().holding->digest, Hashed());
  EXPECT_EQ(world_.at(1).hashed_bytes, world_.Content(5).size());  // once
}

TEST_F(JoiningTest, LearnsWhichChunkDiffers) {
  PublishFirst();
  world_.Derive(6, 5, {7});
  world_.at(1).memory = world_.Content(6);
  const absl::Status status = world_.Do(1, PublishVerb{.version = 5});
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_NE(status.message().find("the first chunk that differs: 7 of 10"), std::string::npos)
      << status;
  EXPECT_FALSE(world_.at(1).core->Report().holding);
  EXPECT_EQ(world_.at(1).word.valid_chunks, 0u);
}

TEST_F(JoiningTest, IsRefusedAlsoWhereNobodyCanBeAsked) {
  holder_can_be_asked_ = false;
  PublishFirst();
  world_.Derive(6, 5, {9});
  world_.at(1).memory = world_.Content(6);
  const absl::Status status = world_.Do(1, PublishVerb{.version = 5});
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
}

TEST_F(JoiningTest, AHolderThatDiesWhileItIsAskedHoldsNobodyUp) {
  PublishFirst();
  world_.Derive(6, 5, {0});
  world_.at(1).memory = world_.Content(6);
  world_.Ask(1, PublishVerb{.version = 5});
  world_.Kill(0);
  EXPECT_TRUE(absl::IsAlreadyExists(world_.Finish(1)));
}

// Its time is the caller's: it says how far it came, and holds nothing.
TEST_F(JoiningTest, ThatTakesTooLongIsNoPublish) {
  PublishFirst();
  world_.hub.script = [this](size_t worker, const Call& call) {
    const auto* publish = std::get_if<protocol::Publish>(&call.request);
    if (publish == nullptr) return false;
    return publish->digest || TellToCompare(worker, call.op);  // the second one is not answered
  };
  world_.at(1).memory = world_.Content(5);
  const absl::Status status = world_.Do(1, PublishVerb{.version = 5, .timeout_ms = 1000});
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_FALSE(world_.at(1).core->Report().holding);
}

// The bytes are hashed anew where another publication has taken the place of the one compared with.
TEST_F(JoiningTest, BecomesTheFirstWhenTheOthersHaveGone) {
  world_.hub.script = [this](size_t worker, const Call& call) {
    const auto* publish = std::get_if<protocol::Publish>(&call.request);
    if (publish == nullptr) return false;
    if (!publish->digest) return TellToCompare(worker, call.op);
    world_.hub.Reply(worker, call.op, absl::OkStatus(), PublishReply{{9, 9}, 8192, true});
    return true;
  };
  holder_can_be_asked_ = false;
  world_.at(0).memory = world_.Content(5);
  ASSERT_TRUE(world_.Do(0, PublishVerb{.version = 5}).ok());
  ASSERT_TRUE(world_.Run([&] { return static_cast<bool>(Hashed()); }));
  std::vector<uint64_t> digests;
  for (uint64_t begin = 0; begin < world_.Content(5).size(); begin += 8192) {
    const uint64_t bytes = std::min<uint64_t>(8192, world_.Content(5).size() - begin);
    digests.push_back(ChunkHash(world_.Content(5), begin, bytes));
  }
  const Fingerprint layout = world_.at(0).core->Report().holding->layout;
  EXPECT_EQ(Hashed(), ShardDigest(layout, {world_.Content(5).size(), 8192}, digests));
}

// R1: a source whose list of digests is not the version's is left before a chunk is committed.
TEST_F(JoiningTest, AReaderBelievesNoOtherList) {
  PublishFirst();
  world_.hub.digest_of_assigned = ContentDigest{1, 2};
  EXPECT_FALSE(world_.Fetch(2).ok());
  EXPECT_EQ(world_.at(2).word.valid_chunks, 0u);
  world_.hub.digest_of_assigned = Hashed();
  EXPECT_EQ(world_.Fetch(2), absl::OkStatus());
  EXPECT_TRUE(world_.Holds(2, 5));
}

// A source without digests is assigned without: what the one before it was held to is over.
TEST_F(JoiningTest, AReaderIsHeldToWhatItsPresentSourceCanGive) {
  PublishFirst();
  ASSERT_EQ(world_.Fetch(1), absl::OkStatus());
  world_.hub.digest_of_assigned = ContentDigest{1, 2};
  size_t assigned = 0;
  world_.hub.choose = [&](size_t /*reader*/) -> std::optional<size_t> {
    if (assigned == 1) world_.hub.digest_of_assigned = {};
    return assigned++ == 0 ? 0 : 1;
  };
  EXPECT_EQ(world_.Fetch(2), absl::OkStatus());
  EXPECT_GE(assigned, 2u);
  EXPECT_TRUE(world_.Holds(2, 5));
}

}  // namespace
}  // namespace tensorhub::agent::testing
