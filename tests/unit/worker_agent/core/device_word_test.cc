// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R4 between devices: gets whose control word only the live source can say.
// Covers: R4.4

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

WorldOptions Devices(uint64_t seed) {
  return {.seed = seed, .workers = 3, .one_sided = true, .devices = true};
}

TEST(DeviceWord, EveryByteComesByGets) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    World world(Devices(seed));
    ASSERT_TRUE(world.Publish(0, 5).ok());
    ASSERT_EQ(world.Fetch(1), absl::OkStatus());
    EXPECT_TRUE(world.at(1).done.back().fetch.one_sided);
    EXPECT_EQ(world.at(1).done.back().fetch.bytes_read, world.Content(5).size());
  }
}

// The middle of a chain answers while it reads itself.
TEST(DeviceWord, AFillingSourceAnswersToo) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    World world(Devices(seed));
    ASSERT_TRUE(world.Publish(0, 5).ok());
    world.hub.choose = [](size_t reader) { return reader - 1; };
    world.Ask(1, FetchVerb{});
    world.Ask(2, FetchVerb{});
    ASSERT_EQ(world.Finish(1), absl::OkStatus());
    ASSERT_EQ(world.Finish(2), absl::OkStatus());
    EXPECT_TRUE(world.Holds(2, 5));
  }
}

// Gets from a process that is gone succeed and bring anything; it says no word any more, so none of
// them counts.
TEST(DeviceWord, NothingIsBelievedOfADeadSource) {
  int interrupted = 0;
  for (uint64_t seed = 1; seed <= 300 && !::testing::Test::HasFailure(); ++seed) {
    World world(Devices(seed));
    ASSERT_TRUE(world.Publish(0, 5).ok());
    ASSERT_TRUE(world.Publish(1, 5).ok());
    world.hub.choose = [](size_t) { return size_t{0}; };
    world.Ask(2, FetchVerb{});
    world.RunFor(TimeMs(world.schedule.random.Below(40)));
    world.hub.choose = [](size_t) { return size_t{1}; };
    if (!world.Idle(2)) ++interrupted;
    world.Kill(0);
    ASSERT_EQ(world.Finish(2), absl::OkStatus());
    EXPECT_TRUE(world.Holds(2, 5));
  }
  EXPECT_GT(interrupted, 100);
}

// A source that stops is given up by its silence, though its memory could be read.
TEST(DeviceWord, AStoppedSourceIsGivenUp) {
  World world(Devices(4));
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Publish(1, 5).ok());
  world.hub.choose = [](size_t) { return size_t{0}; };
  world.Ask(2, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(2, 2));
  world.hub.choose = [](size_t) { return size_t{1}; };
  world.schedule.Pause(0);
  EXPECT_EQ(world.Finish(2), absl::OkStatus());
  EXPECT_EQ(world.at(2).done.back().fetch.sources, "g0/0, g1/0");
}

// --- a peer that a test plays --------------------------------------------------------------------

constexpr Incarnation kUnknown = 900;

PeerMessage From(PeerKind kind, uint64_t read) {
  PeerMessage message;
  message.kind = kind;
  message.from = kUnknown;
  message.read = read;
  return message;
}

class AskedSource : public ::testing::Test {
 protected:
  AskedSource() : world_(Devices(1)) {
    EXPECT_TRUE(world_.Publish(0, 5).ok());
    PeerMessage hello = From(PeerKind::kHello, 0);
    hello.text = "nowhere";
    world_.Hear(0, hello);
    holding_ = *world_.at(0).core->Report().holding;
    PeerMessage open = From(PeerKind::kOpen, 1);
    open.generation = holding_.generation;
    open.publication = holding_.publication;
    open.chunk_bytes = holding_.chunk_bytes;
    open.flags = kFlagOneSided | kFlagHaveDescription;
    world_.Hear(0, open);
    static_cast<void>(world_.Heard(kUnknown));
  }
  std::vector<PeerMessage> Ask(uint64_t read, uint64_t number) {
    PeerMessage question = From(PeerKind::kAskWord, read);
    question.begin = number;
    world_.Hear(0, question);
    return world_.Heard(kUnknown);
  }

  World world_;
  protocol::Holding holding_;
};

TEST_F(AskedSource, SaysItsGenerationAndPrefix) {
  const std::vector<PeerMessage> heard = Ask(1, 77);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].kind, PeerKind::kWord);
  EXPECT_EQ(heard[0].begin, 77u);
  EXPECT_EQ(heard[0].read, 1u);
  EXPECT_EQ(heard[0].generation, holding_.generation);
  EXPECT_EQ(heard[0].valid, world_.chunks());
}

// It is worth waiting for the next question with open eyes, until the reader is done.
TEST_F(AskedSource, StaysAwakeBetweenQuestions) {
  EXPECT_FALSE(world_.at(0).core->Busy());
  ASSERT_EQ(Ask(1, 1).size(), 1u);
  EXPECT_TRUE(world_.at(0).core->Busy());
  world_.Hear(0, From(PeerKind::kClose, 1));
  EXPECT_FALSE(world_.at(0).core->Busy());
}

TEST_F(AskedSource, SaysNothingOfAReadThatIsNotOpen) {
  EXPECT_TRUE(Ask(2, 1).empty());
  // Unpublished: refused, and no word after it.
  ASSERT_TRUE(world_.Do(0, UnpublishVerb{.drain_ms = 0}).ok());
  const std::vector<PeerMessage> heard = world_.Heard(kUnknown);
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard.back().kind, PeerKind::kRefuse);
  EXPECT_TRUE(Ask(1, 3).empty());
}

}  // namespace
}  // namespace tensorhub::agent::testing
