// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R1: boxes of what is published, that other ranks publish as well. The hub's part is played by a
// script.
// Covers: R1.11

#include <optional>
#include <vector>

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

class BoxesTest : public ::testing::Test {
 protected:
  BoxesTest() : world_({.workers = 1, .digests = DigestMode::kOn}) {}

  void Ask(Generation generation, uint64_t question,
           std::vector<protocol::HashBoxes::Range> boxes) {
    world_.Deliver(0, protocol::HashBoxes{generation, question, std::move(boxes)});
  }
  std::optional<protocol::BoxesHashed> Said() const {
    std::optional<protocol::BoxesHashed> said;
    for (const auto& [worker, message] : world_.hub.said) {
      if (const auto* boxes = std::get_if<protocol::BoxesHashed>(&message)) said = *boxes;
    }
    return said;
  }
  Generation generation() { return world_.at(0).word.generation; }

  World world_;
};

TEST_F(BoxesTest, AreHashedWhereverTheyLie) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  Ask(generation(), 3, {{0, 10}, {7, 100}});
  ASSERT_TRUE(world_.Run([&] { return Said().has_value(); }));
  EXPECT_EQ(Said()->generation, generation());
  EXPECT_EQ(Said()->question, 3u);
  EXPECT_EQ(Said()->digests, (std::vector<uint64_t>{ChunkHash(world_.at(0).memory, 0, 10),
                                                    ChunkHash(world_.at(0).memory, 7, 100)}));
}

// The last rank's publish is answered only when they were compared.
TEST_F(BoxesTest, AreHashedBeforeThePublishIsAnswered) {
  std::optional<Call> waits;
  world_.hub.script = [&](size_t, const Call& call) {
    const bool publishes = std::holds_alternative<protocol::Publish>(call.request) && !waits;
    if (publishes) waits = call;
    return publishes;
  };
  world_.Ask(0, PublishVerb{.version = 5});
  ASSERT_TRUE(world_.Run([&] { return waits.has_value(); }));
  Ask(generation(), 1, {{0, 10}});
  EXPECT_TRUE(world_.Run([&] { return Said().has_value(); }));
}

TEST_F(BoxesTest, OfAnotherGenerationOrOutsideOfTheShardAreNotSaid) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  const uint64_t total = world_.at(0).memory.size();
  Ask(generation() - 1, 1, {{0, 10}});
  Ask(generation(), 2, {{total - 5, 6}});
  Ask(generation(), 3, {{total, 1}});
  Ask(generation(), 4, {{1, UINT64_MAX}});
  Ask(generation(), 5, {{0, 0}});
  Ask(generation(), 6, {{0, total}});
  ASSERT_TRUE(world_.Run([&] { return Said().has_value(); }));
  EXPECT_EQ(Said()->question, 6u);
}

// R3: they may change from then on.
TEST_F(BoxesTest, AreForgottenWithWhatIsPublished) {
  world_.hashing_hangs = true;
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  Ask(generation(), 1, {{0, 10}});
  ASSERT_TRUE(world_.Do(0, UnpublishVerb{}).ok());
  world_.hashing_hangs = false;
  EXPECT_FALSE(world_.Run([&] { return Said().has_value(); }));
}

}  // namespace
}  // namespace tensorhub::agent::testing
