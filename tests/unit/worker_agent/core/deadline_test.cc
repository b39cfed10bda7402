// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every verb ends in time, in whichever phase the others leave it hanging.
// Covers: R8.13, R3.8, R3.9

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

struct Outcome {
  absl::Status status;
  TimeMs took_ms = 0;
};

Outcome Timed(World& world, size_t index, const Verb& verb) {
  const TimeMs before = world.now_ms();
  const absl::Status status = world.Do(index, verb);
  return {status, world.now_ms() - before};
}

TEST(Deadline, OfAPublish) {
  World world({});
  Swallow<protocol::Publish>(world);
  world.at(0).memory = world.Content(5);
  const Outcome outcome = Timed(world, 0, PublishVerb{.version = 5, .timeout_ms = 1000});
  EXPECT_EQ(outcome.status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_LE(outcome.took_ms, 1010);
  EXPECT_FALSE(world.at(0).core->Report().holding);
  world.hub.script = nullptr;
  EXPECT_EQ(world.Publish(0, 5), absl::OkStatus());
}

TEST(Deadline, OfAPublishAgainKeepsWhatIsHeld) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  Swallow<protocol::Publish>(world);
  const Outcome outcome = Timed(world, 0, PublishVerb{.version = 5, .timeout_ms = 1000});
  EXPECT_EQ(outcome.status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(world.Holds(0, 5));
}

TEST(Deadline, OfAnUnpublishRaisesTheGeneration) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const Generation generation = world.at(0).word.generation;
  Swallow<protocol::Unpublish>(world);
  const Outcome outcome = Timed(world, 0, UnpublishVerb{.drain_ms = 1000});
  EXPECT_EQ(outcome.status, absl::OkStatus());
  EXPECT_LE(outcome.took_ms, 1600);
  EXPECT_GT(world.at(0).word.generation, generation);
  // R8: a hub that did not hear it would go on listing the version, and refuse the next publish.
  const auto& told = std::get<protocol::ProbeAnswer>(world.hub.said.back().second);
  EXPECT_EQ(told.generation, generation);
  EXPECT_FALSE(told.holds);
}

// Of readers that were left, and that may hang in UCX, the shell hears, also if nobody can say.
TEST(Deadline, OfAnUnpublishMayLeaveReaders) {
  for (const uint32_t left : {0, 1, 2}) {
    World world({});
    ASSERT_TRUE(world.Publish(0, 5).ok());
    world.hub.script = [&](size_t worker, const Call& call) {
      const bool answered = std::holds_alternative<protocol::Unpublish>(call.request) && left < 2;
      if (answered)
        world.hub.Reply(worker, call.op, absl::OkStatus(), UnpublishReply{left == 0, left});
      return true;
    };
    ASSERT_TRUE(world.Do(0, UnpublishVerb{.drain_ms = 1000}).ok());
    EXPECT_EQ(world.at(0).readers_left, left == 0 ? 0 : 1);
  }
}

// As one that ends half way may, since others read what it had.
TEST(Deadline, OfAFetchMayLeaveReaders) {
  for (const uint32_t chunks : {0, 2}) {
    World world({});
    ASSERT_TRUE(world.Publish(0, 5).ok());
    if (chunks == 0) world.schedule.Pause(0);
    world.Ask(1, FetchVerb{.selector = {}, .timeout_ms = 1000});
    if (chunks > 0) {
      ASSERT_TRUE(world.RunToValid(1, chunks));
      world.schedule.Pause(0);
    }
    EXPECT_FALSE(world.Finish(1).ok());
    EXPECT_EQ(world.at(1).readers_left, chunks == 0 ? 0 : 1);
  }
}

// R3: a reader that does not let go is left behind, and reads nothing false.
TEST(Deadline, OfAnUnpublishWithAStoppedReader) {
  for (const bool one_sided : {false, true}) {
    World world({.one_sided = one_sided});
    world.network.rendezvous_percent = 100;
    ASSERT_TRUE(world.Publish(0, 5).ok());
    world.Ask(1, FetchVerb{});
    ASSERT_TRUE(world.RunToValid(1, 2));
    world.schedule.Pause(1);
    const Outcome outcome = Timed(world, 0, UnpublishVerb{.drain_ms = 1000});
    EXPECT_EQ(outcome.status, absl::OkStatus());
    EXPECT_LE(outcome.took_ms, 2600);
    world.schedule.Resume(1);
    EXPECT_FALSE(world.Finish(1).ok());
  }
}

TEST(Deadline, OfAFetchThatIsNotDecided) {
  World world({});
  Swallow<protocol::JoinFetch>(world);
  const Outcome outcome = Timed(world, 1, FetchVerb{.selector = {}, .timeout_ms = 1000});
  EXPECT_EQ(outcome.status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_LE(outcome.took_ms, 1600);
}

// The hub's own deadline is the same: its answer may come a moment after ours.
// R6: it may be decided by now, and then the others wait for this rank.
TEST(Deadline, OfAJoinIsSaidNowAndOnEachSession) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  EXPECT_EQ(world.at(1).core->Report().abandoned_join_op, 0u);
  Swallow<protocol::JoinFetch>(world);
  EXPECT_EQ(world.Do(1, FetchVerb{.selector = {}, .timeout_ms = 500}).code(),
            StatusCode::kDeadlineExceeded);
  const auto& [worker, said] = world.hub.said.back();
  EXPECT_EQ(worker, 1u);
  const OpId join = std::get<protocol::Heartbeat>(said).abandoned_join_op;
  EXPECT_NE(join, 0u);
  EXPECT_EQ(world.at(1).core->Report().abandoned_join_op, join);
}

TEST(Deadline, OfAFetchThatIsDecidedTooLate) {
  for (const bool held : {false, true}) {
    World world({});
    ASSERT_TRUE(world.Publish(0, 5).ok());
    if (held) {
      ASSERT_TRUE(world.Fetch(1).ok());
    }
    std::optional<Call> join;
    world.hub.script = [&](size_t, const Call& call) {
      if (!std::holds_alternative<protocol::JoinFetch>(call.request)) {
        return std::holds_alternative<protocol::BeginRead>(call.request);  // never answered
      }
      join = call;
      return true;
    };
    world.Ask(1, FetchVerb{.selector = {}, .timeout_ms = 1000});
    world.RunFor(1200);
    EXPECT_FALSE(world.Idle(1));
    const FetchDecision decision{{1, 1}, world.hub.PublicationOf(5), 5, 1, 4096, {}, {}, held};
    world.hub.Reply(1, join->op, absl::OkStatus(), decision);
    world.RunFor(5000);
    EXPECT_TRUE(world.Idle(1)) << "held " << held;
    EXPECT_EQ(world.Holds(1, 5), held);
  }
}

TEST(Deadline, OfAFetchThatUnpublishesFirst) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Publish(1, 4).ok());
  Swallow<protocol::Unpublish>(world);
  const Outcome outcome = Timed(world, 1, FetchVerb{.selector = {}, .timeout_ms = 1000});
  EXPECT_EQ(outcome.status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_LE(outcome.took_ms, 1600);
}

TEST(Deadline, OfAFetchThatMayNotBegin) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  Swallow<protocol::BeginRead>(world);
  const Outcome outcome = Timed(world, 1, FetchVerb{.selector = {}, .timeout_ms = 1000});
  EXPECT_EQ(outcome.status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_LE(outcome.took_ms, 1100);
}

TEST(Deadline, OfAFetchWithoutASource) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.script = [&](size_t worker, const Call& call) {
    if (!std::holds_alternative<protocol::BeginRead>(call.request)) return false;
    world.hub.Reply(worker, call.op, absl::OkStatus());
    return true;
  };
  const Outcome outcome = Timed(world, 1, FetchVerb{.selector = {}, .timeout_ms = 1000});
  EXPECT_EQ(outcome.status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_LE(outcome.took_ms, 1100);
}

TEST(Deadline, OfAFetchInTheMiddleOfTheRead) {
  for (const bool one_sided : {false, true}) {
    for (TimeMs timeout_ms = 1; timeout_ms < 60; ++timeout_ms) {
      World world({.seed = uint64_t(timeout_ms), .one_sided = one_sided});
      ASSERT_TRUE(world.Publish(0, 5).ok());
      world.Do(1, FetchVerb{.selector = {}, .timeout_ms = timeout_ms}).IgnoreError();
      EXPECT_EQ(world.Fetch(1), absl::OkStatus());
    }
  }
}

// R6: whoever does not learn the outcome says so.
TEST(Deadline, OfAFetchWhoseOutcomeIsNotHeard) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  Swallow<protocol::FinishRead>(world);
  const Outcome outcome = Timed(world, 1, FetchVerb{.selector = {}, .timeout_ms = 1000});
  EXPECT_EQ(outcome.status.code(), StatusCode::kUnknown);
  EXPECT_LE(outcome.took_ms, 1600);
  EXPECT_FALSE(world.at(1).core->Report().holding);
  EXPECT_EQ(world.hub.CountCalls(1, Call{0, protocol::FinishRead{}}.request.index()), 2u);
}

// The hub would hold it against the other ranks when this one has long given up.
TEST(Deadline, AJoinThatIsRepeatedAsksForWhatIsLeftOfItsTime) {
  World world({});
  world.hub.script = [](size_t, const Call&) { return true; };
  world.Ask(1, FetchVerb{{}, 5000});
  world.RunFor(3000);
  world.Deliver(1, SessionDown{});
  world.Deliver(1, SessionUp{});
  const auto* join = std::get_if<protocol::JoinFetch>(&world.hub.calls.back().second.request);
  ASSERT_NE(join, nullptr);
  EXPECT_LE(join->timeout_ms, 2000);
  EXPECT_GT(join->timeout_ms, 1000);
}

// The word of it may be lost with the session; it is said again on the next.
TEST(Deadline, BuffersDisownedWhileTheHubIsAwayAreDisownedAgain) {
  World world({});
  world.hub.script = [&](size_t, const Call&) {
    world.SetHubAway(true);
    return false;
  };
  world.at(0).memory = world.Content(5);
  EXPECT_FALSE(world.Do(0, PublishVerb{.version = 5, .timeout_ms = 1000}).ok());
  world.hub.script = nullptr;
  world.SetHubAway(false);
  world.RunFor(100);
  EXPECT_EQ(world.Fetch(1).code(), StatusCode::kNotFound);
}

// R8: as one that was not answered; the hub may list them still.
TEST(Unpublish, ThatEndsWithAnErrorDisownsTheBuffers) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.script = [&](size_t worker, const Call& call) {
    if (!std::holds_alternative<protocol::Unpublish>(call.request)) return false;
    world.hub.Reply(worker, call.op, absl::InternalError("a proxy broke"));
    return true;
  };
  EXPECT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  world.RunFor(100);
  EXPECT_EQ(world.Fetch(1).code(), StatusCode::kNotFound);
}

// R1: the hub lists them now as what they are not.
TEST(Publish, OfWhatHasAnotherContentByNowDisownsTheBuffers) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Fetch(1).ok());
  world.hub.script = [&](size_t worker, const Call& call) {
    if (!std::holds_alternative<protocol::Publish>(call.request)) return false;
    world.hub.Reply(worker, call.op, absl::OkStatus(), PublishReply{{9, 9}, 4096, true});
    return true;
  };
  EXPECT_EQ(world.Do(1, PublishVerb{.version = 5}).code(), StatusCode::kAborted);
  EXPECT_FALSE(world.at(1).core->Report().holding);
  const auto* last = std::get_if<protocol::ProbeAnswer>(&world.hub.said.back().second);
  ASSERT_NE(last, nullptr);
  EXPECT_FALSE(last->holds);
}

// R3: a hub that never hears FinishRead would count the reader at its source for good.
TEST(Deadline, AReaderWhoseLastWordIsNotAnsweredSaysThatItIsGoneOnEachSession) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  Swallow<protocol::FinishRead>(world);
  EXPECT_FALSE(world.Do(1, FetchVerb{.selector = {}, .timeout_ms = 1000}).ok());
  world.RunFor(10);
  EXPECT_EQ(world.hub.Said<protocol::SourceReleased>(), 1u);
  EXPECT_TRUE(world.Do(0, UnpublishVerb{.drain_ms = 1'000'000}).ok()) << "nobody is waited for";
  world.SetHubAway(true);
  world.RunFor(100);
  world.SetHubAway(false);
  world.RunFor(100);
  EXPECT_EQ(world.hub.Said<protocol::SourceReleased>(), 2u);
  const auto* last = std::get_if<protocol::SourceReleased>(&world.hub.said.back().second);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->assignment, kAllAssignments);
}

// R8: the hub did record it, and would list buffers that mean nothing any more.
TEST(Deadline, BuffersThatTheHubBelievesHeldAreDisowned) {
  World world({});
  world.hub.lose_answers = true;
  world.at(0).memory = world.Content(5);
  EXPECT_FALSE(world.Do(0, PublishVerb{.version = 5, .timeout_ms = 1000}).ok());
  world.hub.lose_answers = false;
  world.RunFor(100);
  EXPECT_EQ(world.Fetch(1).code(), StatusCode::kNotFound) << "the hub lists it no longer";
  ASSERT_EQ(world.Publish(0, 5), absl::OkStatus());
  world.Ask(1, FetchVerb{.selector = {}, .timeout_ms = 1000});
  ASSERT_TRUE(world.RunToValid(1, world.chunks()));
  world.hub.lose_answers = true;
  EXPECT_EQ(world.Finish(1).code(), StatusCode::kUnknown);
  world.hub.lose_answers = false;
  world.RunFor(100);
  EXPECT_EQ(world.Fetch(1), absl::OkStatus());
}

TEST(Deadline, TheOutcomeIsTheHubsEvenAfterIt) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  int asked = 0;
  world.hub.script = [&](size_t worker, const Call& call) {
    if (!std::holds_alternative<protocol::FinishRead>(call.request)) return false;
    if (++asked == 2) world.hub.Reply(worker, call.op, absl::OkStatus(), FinishReadReply{5});
    return true;
  };
  EXPECT_EQ(world.Do(1, FetchVerb{.selector = {}, .timeout_ms = 1000}), absl::OkStatus());
  EXPECT_TRUE(world.Holds(1, 5));
}

TEST(Deadline, OfALeave) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.script = [](size_t, const Call&) { return true; };
  const Outcome outcome = Timed(world, 0, LeaveVerb{.drain_ms = 1000});
  EXPECT_EQ(outcome.status, absl::OkStatus());
  EXPECT_LE(outcome.took_ms, 2700);
  EXPECT_EQ(world.Fetch(0).code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tensorhub::agent::testing
