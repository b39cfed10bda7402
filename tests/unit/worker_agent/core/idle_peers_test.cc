// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Connections that nobody uses (R9): a few are kept, and whoever is parted with is reached again.

#include <algorithm>
#include <variant>

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

constexpr Incarnation kIdler = 10'000;
constexpr size_t kKept = 2;

class IdlePeers : public ::testing::Test {
 protected:
  IdlePeers() {
    CoreOptions options = world_.at(0).options;
    options.idle_peers = kKept;
    world_.Restart(0, options);
    EXPECT_TRUE(world_.Publish(0, 5).ok());
  }
  void Say(PeerKind kind, Incarnation from, uint32_t chunk = 0) {
    PeerMessage message;
    message.kind = kind;
    message.from = from;
    message.read = 1;
    message.generation = world_.at(0).word.generation;
    message.publication = world_.hub.PublicationOf(5);
    message.chunk_bytes = 4096;
    message.chunk = chunk;
    message.text = "somewhere";
    world_.Hear(0, message);
  }
  bool Hears(Incarnation peer, PeerKind kind) {
    const std::vector<PeerMessage> heard = world_.Heard(peer);
    return std::any_of(heard.begin(), heard.end(),
                       [kind](const PeerMessage& message) { return message.kind == kind; });
  }

  World world_{{}};
};

TEST_F(IdlePeers, TheOldestArePartedWith) {
  for (Incarnation peer = kIdler; peer < kIdler + 5; ++peer) {
    Say(PeerKind::kHello, peer);
    world_.RunFor(10);
  }
  Say(PeerKind::kOpen, kIdler);  // the oldest is in use
  world_.RunFor(1500);
  EXPECT_FALSE(Hears(kIdler, PeerKind::kBye));
  for (const Incarnation peer : {kIdler + 1, kIdler + 2}) {
    const std::vector<PeerMessage> heard = world_.Heard(peer);
    ASSERT_EQ(heard.size(), 1u);
    EXPECT_EQ(heard[0].kind, PeerKind::kBye);
    EXPECT_NE(heard[0].flags & kFlagLivesOn, 0);
  }
  for (const Incarnation peer : {kIdler + 3, kIdler + 4}) {
    EXPECT_FALSE(Hears(peer, PeerKind::kBye));
  }
}

TEST_F(IdlePeers, WhoWasPartedWithIsAnsweredAgain) {
  for (Incarnation peer = kIdler; peer <= kIdler + kKept; ++peer) {
    Say(PeerKind::kHello, peer);
    world_.RunFor(10);
  }
  world_.RunFor(1500);
  ASSERT_TRUE(Hears(kIdler, PeerKind::kBye));
  Say(PeerKind::kOpen, kIdler);
  Say(PeerKind::kRequest, kIdler, world_.chunks());
  world_.RunFor(1000);
  EXPECT_TRUE(Hears(kIdler, PeerKind::kData));
}

// A network on the way may grant so many connections, and others wait for one.
TEST(FarPeers, AreGivenUpByTheirReaderSoonAfterTheRead) {
  for (const Tier tier : {Tier::kRemote, Tier::kDatacenter}) {
    World world({});
    world.hub.tier = tier;
    ASSERT_TRUE(world.Publish(0, 5).ok());
    ASSERT_EQ(world.Fetch(1), absl::OkStatus());
    world.RunFor(2500);
    EXPECT_EQ(world.network.partings, tier == Tier::kRemote ? 1u : 0u);
    ASSERT_EQ(world.Do(1, UnpublishVerb{}), absl::OkStatus());
    EXPECT_EQ(world.Fetch(1), absl::OkStatus());
    EXPECT_EQ(world.hub.Said<protocol::SourceSilent>(), 0u);
    EXPECT_EQ(world.hub.Said<protocol::SourceFailed>(), 0u);
  }
}

// R6: a rank that has all it needs waits for the others, who may wait for its connection.
TEST(FarPeers, AreGivenUpWhileOtherRanksStillRead) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const OpId waiting = world.FetchUntilItWaits(1);
  ASSERT_NE(waiting, 0u);
  EXPECT_EQ(world.network.partings, 0u);
  world.RunFor(250);
  EXPECT_EQ(world.network.partings, 1u);
  world.hub.Reply(1, waiting, absl::OkStatus(), FinishReadReply{5});
  EXPECT_EQ(world.Finish(1), absl::OkStatus());
}

TEST(FarPeers, AreKeptWhileTheyAreReadFrom) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(1, 2));
  world.schedule.Pause(0);
  for (int times = 0; times < 10; ++times) {
    world.RunFor(500);
    world.Deliver(1, PeerHeard{Network::IncarnationOf(0)});
  }
  EXPECT_EQ(world.network.partings, 0u);
  world.schedule.Resume(0);
  EXPECT_EQ(world.Finish(1), absl::OkStatus());
}

// It parted before it opened this read; the two went over connections of their own.
TEST_F(IdlePeers, ALastWordThatWasOvertakenEndsNothing) {
  Say(PeerKind::kHello, kIdler);
  Say(PeerKind::kOpen, kIdler);
  PeerMessage bye;
  bye.kind = PeerKind::kBye;
  bye.flags = kFlagLivesOn;
  bye.from = kIdler;
  world_.Hear(0, bye);
  Say(PeerKind::kRequest, kIdler, world_.chunks());
  world_.RunFor(1000);
  EXPECT_TRUE(Hears(kIdler, PeerKind::kData));
}

// Its open and the source's last word cross: nothing is wrong with the source.
TEST_F(IdlePeers, AReaderComesBackToASourceThatPartedWithIt) {
  world_.Ask(1, FetchVerb{});
  ASSERT_TRUE(world_.RunToValid(1, 2));
  PeerMessage bye;
  bye.kind = PeerKind::kBye;
  bye.flags = kFlagLivesOn;
  bye.from = Network::IncarnationOf(0);
  world_.Hear(1, bye);
  EXPECT_EQ(world_.Finish(1), absl::OkStatus());
  EXPECT_TRUE(world_.Holds(1, 5));
  for (const auto& [worker, message] : world_.hub.said) {
    EXPECT_FALSE(std::holds_alternative<protocol::SourceFailed>(message));
  }
}

}  // namespace
}  // namespace tensorhub::agent::testing
