// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sources that stop, die, or cannot be reached in the middle of a read (R5, R8).
// Covers: R8.15, R4.6

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

size_t FailuresSaid(const World& world) { return world.hub.Said<protocol::SourceFailed>(); }

class SourceLoss : public ::testing::TestWithParam<bool> {
 protected:
  // Two holders of version 5; worker 2 reads from worker 0, and has got a few chunks.
  std::unique_ptr<World> Reading(uint64_t seed = 1) const {
    auto world =
        std::make_unique<World>(WorldOptions{.seed = seed, .workers = 3, .one_sided = GetParam()});
    if (!GetParam()) world->hub.tier = Tier::kDatacenter;
    EXPECT_TRUE(world->Publish(0, 5).ok());
    EXPECT_TRUE(world->Publish(1, 5).ok());
    world->hub.choose = [](size_t) { return size_t{0}; };
    world->Ask(2, FetchVerb{});
    EXPECT_TRUE(world->RunToValid(2, 2));
    world->hub.choose = [](size_t) { return size_t{1}; };
    return world;
  }
  void ExpectRestFromTheOther(World& world) const {
    EXPECT_EQ(world.Finish(2), absl::OkStatus());
    EXPECT_TRUE(world.Holds(2, 5));
    EXPECT_EQ(world.at(2).done.back().fetch.sources, "g0/0, g1/0");
    EXPECT_EQ(world.at(2).done.back().fetch.bytes_read, world.Content(5).size());
    EXPECT_LE(world.at(2).written_bytes, world.Content(5).size() + 3 * 4096);
    EXPECT_EQ(FailuresSaid(world), 1u);
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, SourceLoss, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "OneSided" : "Served"; });

TEST_P(SourceLoss, OfABrokenLink) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const auto world = Reading(seed);
    world->network.BreakLink(2, 0);
    ExpectRestFromTheOther(*world);
  }
}

TEST_P(SourceLoss, OfAProcess) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const auto world = Reading(seed);
    world->network.Kill(0);
    ExpectRestFromTheOther(*world);
  }
}

// Memory of a stopped process can still be read one-sidedly; so only the served way notices.
TEST_P(SourceLoss, OfAStoppedProcessIsNoticedByItsSilence) {
  const auto world = Reading();
  const TimeMs before = world->now_ms();
  world->schedule.Pause(0);
  if (!GetParam()) {
    ExpectRestFromTheOther(*world);
    EXPECT_GE(world->now_ms() - before, 3000);
    EXPECT_LE(world->now_ms() - before, 3500);
  } else {
    EXPECT_EQ(world->Finish(2), absl::OkStatus());
  }
  // Once it goes on, its old frames and its silence have no effect, and it can be a source again.
  world->schedule.Resume(0);
  world->RunFor(1000);
  EXPECT_TRUE(world->Holds(2, 5));
  ASSERT_TRUE(world->Do(2, UnpublishVerb{}).ok());
  world->hub.choose = [](size_t) { return size_t{0}; };
  EXPECT_EQ(world->Fetch(2), absl::OkStatus());
  EXPECT_EQ(world->at(2).done.back().fetch.sources, "g0/0");
}

// As after an outage, which the kernel goes on waiting out: nobody is to blame for that.
TEST_P(SourceLoss, OfAConnectionFromBeforeCostsAnother) {
  World world({.workers = 2, .one_sided = GetParam()});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Fetch(1).ok());
  ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  ASSERT_TRUE(world.Publish(0, 6).ok());
  world.network.Clog(0, 1);
  const TimeMs before = world.now_ms();
  EXPECT_EQ(world.Fetch(1), absl::OkStatus());
  EXPECT_TRUE(world.Holds(1, 6));
  EXPECT_LE(world.now_ms() - before, 1000);
  EXPECT_EQ(FailuresSaid(world), 0u);
  EXPECT_EQ(world.hub.Said<protocol::SourceSilent>(), 0u);
}

// And it is the source's fault if that does not help: it is as silent as it may be, and no longer.
TEST_P(SourceLoss, OverAnotherConnectionIsASourcesOwn) {
  World world({.workers = 2, .one_sided = GetParam()});
  if (!GetParam()) world.hub.tier = Tier::kDatacenter;
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Fetch(1).ok());
  ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  ASSERT_TRUE(world.Publish(0, 6).ok());
  world.schedule.Pause(0);
  world.Ask(1, FetchVerb{});
  world.RunFor(750 + 3000 + 500);
  EXPECT_EQ(FailuresSaid(world), 1u);
  EXPECT_EQ(world.hub.Said<protocol::SourceSilent>(), 1u);
}

TEST_P(SourceLoss, IsDoubtedOnceBeforeItIsGivenUp) {
  if (GetParam()) GTEST_SKIP() << "memory of a stopped process can be read one-sidedly";
  const auto world = Reading();
  for (size_t times = 1; times < 4; ++times) {
    world->schedule.Pause(0);
    world->RunFor(1500);
    EXPECT_EQ(world->hub.Said<protocol::SourceSilent>(), times);
    const uint32_t valid = world->at(2).word.valid_chunks;
    world->schedule.Resume(0);
    ASSERT_TRUE(world->RunToValid(2, valid + 1)) << "it hears from the source again";
  }
  EXPECT_EQ(FailuresSaid(*world), 0u);
}

class FarSource : public ::testing::Test {
 protected:
  // Worker 1 reads version 5 from worker 0 in another datacenter, and has got a few chunks.
  void BeginToRead() {
    ASSERT_TRUE(world_.Publish(0, 5).ok());
    world_.Ask(1, FetchVerb{});
    ASSERT_TRUE(world_.RunToValid(1, 2));
  }
  void ExpectWholeWithoutBlame() {
    EXPECT_EQ(world_.Finish(1), absl::OkStatus());
    EXPECT_TRUE(world_.Holds(1, 5));
    EXPECT_EQ(FailuresSaid(world_), 0u);
  }

  World world_{{.workers = 2}};  // the hub's tier is kRemote
};

TEST_F(FarSource, IsReadOverAnotherConnectionWhenItsPathDies) {
  BeginToRead();
  world_.network.Clog(0, 1);
  const TimeMs before = world_.now_ms();
  ExpectWholeWithoutBlame();
  EXPECT_GE(world_.now_ms() - before, 750);
  EXPECT_LE(world_.now_ms() - before, 1000);
}

TEST_F(FarSource, HasTheTimeOfAConnectionForItsFirstAnswer) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  world_.schedule.Pause(0);
  world_.Ask(1, FetchVerb{});
  world_.RunFor(17'000);
  world_.schedule.Resume(0);
  ExpectWholeWithoutBlame();
}

TEST_F(FarSource, ThatNeverAnswersIsGivenUp) {
  ASSERT_TRUE(world_.Publish(0, 5).ok());
  world_.schedule.Pause(0);
  world_.Ask(1, FetchVerb{});
  world_.RunFor(18'500);
  EXPECT_EQ(FailuresSaid(world_), 1u);
}

TEST_F(FarSource, LivesWhilePartsOfAMessageCome) {
  BeginToRead();
  world_.schedule.Pause(0);
  for (int times = 0; times < 20; ++times) {
    world_.RunFor(500);
    world_.Deliver(1, PeerHeard{Network::IncarnationOf(0)});
  }
  EXPECT_EQ(world_.hub.Said<protocol::SourceSilent>(), 0u);
  world_.schedule.Resume(0);
  ExpectWholeWithoutBlame();
}

// A filling source that waits for its own source is slow, not silent.
TEST_P(SourceLoss, IsNotSuspectedOfASlowOne) {
  World world({.workers = 3, .one_sided = GetParam()});
  for (size_t index = 0; index < 3; ++index) world.hub.choose = [](size_t r) { return r - 1; };
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(1, 2));
  world.Ask(2, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(2, 1));
  world.network.gets_hang = true;  // reader 1 gets no further for a while
  if (!GetParam()) world.schedule.Pause(0);
  world.RunFor(2500);
  EXPECT_EQ(FailuresSaid(world), 0u);
  EXPECT_FALSE(world.Idle(2)) << "it goes on waiting for worker 1";
}

TEST_P(SourceLoss, OfTheLastOneEndsTheFetchAtOnce) {
  World world({.one_sided = GetParam()});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(1, 2));
  const TimeMs before = world.now_ms();
  world.Kill(0);
  EXPECT_EQ(world.Finish(1).code(), StatusCode::kUnavailable);
  EXPECT_LE(world.now_ms() - before, 100);
  EXPECT_EQ(world.hub.CountCalls(1, Call{0, protocol::FinishRead{}}.request.index()), 1u);
  EXPECT_FALSE(world.at(1).core->Report().holding);
}

// R6: this rank has every byte and waits for one whose last source fails. UNAVAILABLE is the
// outcome then, and not a hub to call again.
TEST_P(SourceLoss, OfAnotherRanksLastOneEndsTheWaitAtOnce) {
  World world({.one_sided = GetParam()});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const OpId waiting = world.FetchUntilItWaits(1);
  ASSERT_NE(waiting, 0u);
  const absl::Status outcome = absl::UnavailableError("every source of shard 1 failed");
  const TimeMs before = world.now_ms();
  world.hub.Reply(1, waiting, outcome, FinishReadReply{5});
  EXPECT_EQ(world.Finish(1), outcome);
  EXPECT_LE(world.now_ms() - before, 100);
  EXPECT_EQ(world.hub.CountCalls(1, Call{0, protocol::FinishRead{}}.request.index()), 1u);
  EXPECT_FALSE(world.at(1).core->Report().holding);
}

TEST_P(SourceLoss, OfOneThatRestartedUnderTheSameAddress) {
  World world({.one_sided = GetParam()});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  PeerMessage message;
  message.kind = PeerKind::kOpen;
  message.from = 7;
  message.to = 1;  // an earlier life
  Effects effects;
  world.at(0).core->Step(MessageArrived{Encode(message), ""}, world.now_ms(), effects);
  for (const Effect& effect : effects) EXPECT_TRUE(std::holds_alternative<LogLine>(effect));
}

// R8: a source whose own connection to the reader broke cannot answer; the reader has not heard of
// it, and says no hello again.
TEST_P(SourceLoss, OfItsConnectionAtItsEndOnlyIsMendedByTheNextRead) {
  World world({.one_sided = GetParam()});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_EQ(world.Fetch(1), absl::OkStatus());
  ASSERT_EQ(world.Do(1, UnpublishVerb{}), absl::OkStatus());
  const Incarnation reader = world.at(1).options.self.incarnation;
  world.Deliver(0, PeerFailed{reader, absl::UnavailableError("the connection broke")});
  const TimeMs before = world.now_ms();
  EXPECT_EQ(world.Fetch(1), absl::OkStatus());
  EXPECT_LE(world.now_ms() - before, 500);
  EXPECT_EQ(world.hub.Said<protocol::SourceSilent>(), 0u);
}

// R4: a get that never completes holds up neither the next source nor the end of the verb for
// longer than a silent source would.
TEST(HangingGets, AreClosedAfterARedirect) {
  World world({.workers = 3, .one_sided = true});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Publish(1, 5).ok());
  world.hub.choose = [](size_t) { return size_t{0}; };
  world.network.gets_hang = true;
  world.Ask(2, FetchVerb{});
  ASSERT_TRUE(world.Run([&] { return world.network.HasGets(2); }));
  world.hub.choose = [](size_t) { return size_t{1}; };
  world.Ask(0, UnpublishVerb{.drain_ms = 8000});
  world.RunFor(200);
  world.network.gets_hang = false;
  EXPECT_EQ(world.Finish(2), absl::OkStatus());
  EXPECT_EQ(world.Finish(0), absl::OkStatus());
}

TEST(HangingGets, AreClosedWhenTheFetchIsAborted) {
  for (const bool redirected : {false, true}) {
    World world({.workers = 3, .one_sided = true});
    ASSERT_TRUE(world.Publish(0, 5).ok());
    ASSERT_TRUE(world.Publish(1, 5).ok());
    world.hub.choose = [](size_t) { return size_t{0}; };
    world.network.gets_hang = true;
    world.Ask(2, FetchVerb{});
    ASSERT_TRUE(world.Run([&] { return world.network.HasGets(2); }));
    if (redirected) world.hub.Assign(2, 1);
    world.RunFor(50);
    EXPECT_TRUE(world.network.HasGets(2));
    world.hub.Abort(2, absl::AbortedError("a rank failed"));
    world.RunFor(100);
    EXPECT_TRUE(world.Idle(2));
    EXPECT_FALSE(world.network.HasGets(2));
  }
}

TEST(HangingGets, AreClosedAtTheDeadline) {
  World world({.one_sided = true});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.network.gets_hang = true;
  EXPECT_EQ(world.Do(1, FetchVerb{.selector = {}, .timeout_ms = 1000}).code(),
            StatusCode::kDeadlineExceeded);
  world.network.gets_hang = false;
  EXPECT_EQ(world.Fetch(1), absl::OkStatus());
}

}  // namespace
}  // namespace tensorhub::agent::testing
