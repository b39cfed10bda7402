// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whoever leaves does not wait for what runs: in whichever phase a verb is, it ends soon and by its
// own way out, and nothing new begins.

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

// Simulated; the verbs below would go on for minutes.
constexpr TimeMs kLeftWithinMs = 100;

void ExpectLeftSoon(World& world, size_t index) {
  ASSERT_FALSE(world.Idle(index)) << "it ended before";
  const TimeMs before = world.now_ms();
  world.Deliver(index, LeaveAsked{});
  EXPECT_EQ(world.Finish(index).code(), StatusCode::kCancelled);
  EXPECT_LE(world.now_ms() - before, kLeftWithinMs);
  world.hub.script = nullptr;
  EXPECT_EQ(world.Fetch(index).code(), StatusCode::kCancelled) << "something new began";
  EXPECT_EQ(world.Do(index, LeaveVerb{}), absl::OkStatus());
  EXPECT_EQ(world.Fetch(index).code(), StatusCode::kFailedPrecondition);
}

TEST(Leaving, EndsAFetchThatWaitsForAVersion) {
  World world({});
  Swallow<protocol::JoinFetch>(world);
  world.Ask(1, FetchVerb{});
  world.RunFor(1000);
  ExpectLeftSoon(world, 1);
}

TEST(Leaving, EndsAFetchWithoutASource) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  Swallow<protocol::BeginRead>(world);
  world.Ask(1, FetchVerb{});
  world.RunFor(1000);
  ExpectLeftSoon(world, 1);
}

TEST(Leaving, EndsAFetchInTheMiddleOfTheRead) {
  for (const bool one_sided : {false, true}) {
    World world({.one_sided = one_sided});
    ASSERT_TRUE(world.Publish(0, 5).ok());
    world.Ask(1, FetchVerb{});
    ASSERT_TRUE(world.RunToValid(1, 2));
    ExpectLeftSoon(world, 1);
    EXPECT_TRUE(world.Holds(0, 5));
  }
}

TEST(Leaving, EndsAFetchThatWaitsForTheOtherRanks) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.script = [](size_t, const Call& call) {
    const auto* finish = std::get_if<protocol::FinishRead>(&call.request);
    return finish != nullptr && finish->result.ok();
  };
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(1, world.chunks()));
  world.RunFor(1000);
  ExpectLeftSoon(world, 1);
}

TEST(Leaving, EndsAPublishThatNobodyAnswers) {
  World world({});
  Swallow<protocol::Publish>(world);
  world.at(0).memory = world.Content(5);
  world.Ask(0, PublishVerb{.version = 5});
  world.RunFor(1000);
  ExpectLeftSoon(world, 0);
}

TEST(Leaving, EndsAPublishThatWaitsForTheGroup) {
  World world({});
  world.hub.visible_at_once = false;
  world.at(0).memory = world.Content(5);
  world.Ask(0, PublishVerb{.version = 5, .wait_for_group = true});
  world.RunFor(1000);
  ExpectLeftSoon(world, 0);
}

// R3: the readers of what it held are redirected by the hub, not refused.
TEST(Leaving, LetsAFetchUnpublishWhatItHeld) {
  World world({.workers = 3});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Publish(1, 4).ok());
  std::optional<Call> unpublish;
  world.hub.script = [&](size_t, const Call& call) {
    if (!std::holds_alternative<protocol::Unpublish>(call.request)) return false;
    unpublish = call;
    return true;
  };
  const ControlWord held = world.at(1).word;
  world.Ask(1, FetchVerb{});
  world.RunFor(1000);
  world.Deliver(1, LeaveAsked{.drain_ms = 2000});
  world.RunFor(1000);
  EXPECT_EQ(world.at(1).word, held) << "before the hub answered";
  ASSERT_TRUE(unpublish);
  world.hub.script = nullptr;
  world.hub.Reply(1, unpublish->op, absl::OkStatus(), UnpublishReply{});
  EXPECT_EQ(world.Finish(1).code(), StatusCode::kCancelled);
}

// R3: an unpublish that runs is what leaving needs anyway.
TEST(Leaving, LetsAnUnpublishEnd) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  Swallow<protocol::Unpublish>(world);
  world.Ask(0, UnpublishVerb{.drain_ms = 1000});
  world.Deliver(0, LeaveAsked{});
  EXPECT_EQ(world.Finish(0), absl::OkStatus());
}

// Whatever for: from here on readers and keepers have what the leave gives them.
TEST(Leaving, ShortensAnUnpublish) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  std::vector<protocol::Unpublish> calls;
  world.hub.script = [&](size_t, const Call& call) {
    const auto* unpublish = std::get_if<protocol::Unpublish>(&call.request);
    if (unpublish != nullptr) calls.push_back(*unpublish);
    return unpublish != nullptr;
  };
  world.Ask(0, UnpublishVerb{.drain_ms = 60'000});
  world.RunFor(1000);
  const TimeMs before = world.now_ms();
  world.Deliver(0, LeaveAsked{.drain_ms = 1000});
  EXPECT_EQ(world.Finish(0), absl::OkStatus());
  EXPECT_LE(world.now_ms() - before, 2000);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_FALSE(calls[0].leaving);
  EXPECT_TRUE(calls[1].leaving);
  EXPECT_EQ(calls[1].drain_ms, 1000);
}

// --- the end -------------------------------------------------------------------------------------

constexpr Incarnation kPeer = 77;

PeerMessage FromPeer(PeerKind kind) {
  PeerMessage message;
  message.kind = kind;
  message.from = kPeer;
  return message;
}

TEST(Stopping, IsSaidToEveryPeer) {
  World world({});
  world.Hear(0, FromPeer(PeerKind::kHello));
  world.Deliver(0, Stopping{});
  const std::vector<PeerMessage> heard = world.Heard(kPeer);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].kind, PeerKind::kBye);
}

TEST(Stopping, OfAPeerIsTheEndOfItsConnection) {
  World world({});
  world.Hear(0, FromPeer(PeerKind::kHello));
  world.Hear(0, FromPeer(PeerKind::kBye));
  world.Deliver(0, Stopping{});
  EXPECT_TRUE(world.Heard(kPeer).empty());
}

}  // namespace
}  // namespace tensorhub::agent::testing
