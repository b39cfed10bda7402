// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Publish, unpublish and leave, and what the hub says meanwhile.
// Covers: R9.7, R8.17

#include "common/remedy.h"
#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

absl::Status UnknownLayout() {
  return WithRemedy(absl::FailedPreconditionError("unknown layout ab; put it"),
                    Remedy::kPutDocuments);
}

TEST(Publish, HoldsTheVersionAndReportsIt) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  EXPECT_TRUE(world.Holds(0, 5));
  const StateReport report = world.at(0).core->Report();
  ASSERT_TRUE(report.holding);
  EXPECT_TRUE(report.holding->published);
  EXPECT_TRUE(report.holding->visible);
  EXPECT_EQ(report.holding->valid_chunks, world.chunks());
  EXPECT_EQ(report.holding->generation, world.at(0).word.generation);
  EXPECT_FALSE(report.open_fetch);
}

TEST(Publish, NeedsARegistration) {
  World world({.connect = false});
  EXPECT_EQ(world.Publish(0, 5).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(world.Fetch(0).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(world.Do(0, UnpublishVerb{}).ok());
}

TEST(Publish, OfTheSameVersionAgainKeepsTheGeneration) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const ControlWord word = world.at(0).word;
  ASSERT_TRUE(world.Publish(0, 5).ok());
  EXPECT_EQ(world.at(0).word, word);
  EXPECT_TRUE(world.Holds(0, 5));
}

TEST(Publish, OfAnotherVersionWantsAnUnpublishFirst) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  EXPECT_EQ(world.Do(0, PublishVerb{.version = 6}).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(world.Holds(0, 5));
  ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  EXPECT_TRUE(world.Publish(0, 6).ok());
}

TEST(Publish, RefusedByTheHubLeavesTheBuffersFree) {
  World world({});
  world.hub.script = [&](size_t worker, const Call& call) {
    world.hub.Reply(worker, call.op, absl::AlreadyExistsError("another layout"));
    return true;
  };
  EXPECT_EQ(world.Publish(0, 5).code(), StatusCode::kAlreadyExists);
  EXPECT_FALSE(world.at(0).core->Report().holding);
  EXPECT_EQ(world.at(0).word.valid_chunks, 0u);
}

TEST(Publish, OfAnUnknownLayoutPutsItAndTriesANewOp) {
  World world({});
  world.hub.know_documents = false;
  EXPECT_TRUE(world.Publish(0, 5).ok());
  EXPECT_EQ(world.hub.documents(), 1);
  ASSERT_EQ(world.hub.calls.size(), 2u);
  EXPECT_NE(world.hub.calls[0].second.op, world.hub.calls[1].second.op);
}

TEST(Publish, AHubThatNeverLearnsTheLayoutIsAskedAFewTimes) {
  World world({});
  world.hub.script = [&](size_t worker, const Call& call) {
    world.hub.Reply(worker, call.op, UnknownLayout());
    return true;
  };
  EXPECT_EQ(world.Publish(0, 5).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(world.hub.calls.size(), 4u);
}

// R9: the hub's answers are checked too.
TEST(Publish, AnAnswerThatMakesNoSenseIsAnError) {
  const auto answered = [](decltype(CallReply::payload) payload) {
    World world({});
    world.hub.script = [&](size_t worker, const Call& call) {
      world.hub.Reply(worker, call.op, absl::OkStatus(), payload);
      return true;
    };
    return world.Publish(0, 5).code();
  };
  EXPECT_EQ(answered(std::monostate()), StatusCode::kInternal);
  EXPECT_EQ(answered(UnpublishReply{}), StatusCode::kInternal);
  EXPECT_EQ(answered(PublishReply{{1, 1}, 0, true}), StatusCode::kInvalidArgument);
  EXPECT_EQ(answered(PublishReply{{1, 1}, 17, true}), StatusCode::kInvalidArgument);
  EXPECT_EQ(answered(PublishReply{{}, 4096, true}), StatusCode::kInternal);
}

// R2: what it was told of its group's epoch it reports; of what it published, that of the answer.
TEST(Publish, ReportsTheEpochsThatItWasTold) {
  World world({});
  world.Deliver(0, SessionUp{.welcome = {.epoch = {7, 1}}});
  world.hub.script = [&](size_t worker, const Call& call) {
    world.hub.Reply(worker, call.op, absl::OkStatus(), PublishReply{{1, 1}, 4096, false, {7, 2}});
    return true;
  };
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const StateReport report = world.at(0).core->Report();
  EXPECT_EQ(report.epoch, (GroupEpoch{7, 1}));
  EXPECT_EQ(report.holding->epoch, (GroupEpoch{7, 2}));
  world.Deliver(0, protocol::GroupChanged{{7, 3}});
  EXPECT_EQ(world.at(0).core->Report().epoch, (GroupEpoch{7, 3}));
}

// R8: by which the hub knows later which of two processes of a rank is the newer one.
TEST(Session, ReportsTheEpochInWhichItCame) {
  World world({});
  EXPECT_EQ(world.at(0).core->Report().joined_epoch, (GroupEpoch{}));
  for (const uint64_t count : {1, 2}) {
    world.Deliver(0, SessionUp{.welcome = {.epoch = {7, count}}});
    EXPECT_EQ(world.at(0).core->Report().joined_epoch, (GroupEpoch{7, 1}));
    world.Deliver(0, SessionDown{});
  }
}

// R1: what these buffers hold was published under one id; another id is another content.
TEST(Publish, AgainUnderAnotherPublicationIsAnError) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.script = [&](size_t worker, const Call& call) {
    world.hub.Reply(worker, call.op, absl::OkStatus(), PublishReply{{3, 3}, 4096, true});
    return true;
  };
  EXPECT_FALSE(world.Publish(0, 5).ok());
}

// R8: a hub that has been told in between that nothing is held, and believes it.
TEST(Publish, IsAskedForAgainIfTheAnswerComesBetweenTwoSessions) {
  World world({});
  world.at(0).memory = world.Content(5);
  OpId op = 0;
  world.hub.script = [&](size_t, const Call& call) { return op = call.op, true; };
  world.Ask(0, PublishVerb{.version = 5});
  world.RunFor(100);
  world.Deliver(0, SessionDown{});
  EXPECT_FALSE(world.at(0).core->Report().holding);
  world.hub.Reply(0, op, absl::OkStatus(), PublishReply{{3, 3}, 4096, true});
  world.RunFor(100);
  EXPECT_FALSE(world.Idle(0));
  world.hub.script = nullptr;
  world.Deliver(0, SessionUp{});
  EXPECT_EQ(world.Finish(0), absl::OkStatus());
}

TEST(Publish, WaitsForTheGroup) {
  World world({});
  world.hub.visible_at_once = false;
  world.at(0).memory = world.Content(5);
  world.Ask(0, PublishVerb{.version = 5, .wait_for_group = true});
  world.RunFor(1000);
  EXPECT_FALSE(world.Idle(0));
  world.hub.AllowVisible(5);
  EXPECT_TRUE(world.Finish(0).ok());
  EXPECT_TRUE(world.at(0).core->Report().holding->visible);
}

// The notice travels on the session, the answer does not: either may come first.
TEST(Publish, WaitingForTheGroupMissesNoNoticeThatOvertookTheAnswer) {
  World world({});
  world.at(0).memory = world.Content(5);
  world.hub.script = [&](size_t, const Call&) { return true; };
  world.Ask(0, PublishVerb{.version = 5, .wait_for_group = true});
  world.RunFor(100);
  world.Deliver(0, protocol::Visible{world.hub.PublicationOf(5)});
  world.hub.Reply(0, world.hub.calls.back().second.op, absl::OkStatus(),
                  PublishReply{world.hub.PublicationOf(5), 4096, false});
  world.RunFor(100);
  EXPECT_TRUE(world.Idle(0));
}

TEST(Publish, WaitingForTheGroupAsksAgainAfterTheHubWasAway) {
  World world({});
  world.hub.visible_at_once = false;
  world.at(0).memory = world.Content(5);
  world.Ask(0, PublishVerb{.version = 5, .wait_for_group = true});
  world.RunFor(1000);
  world.SetHubAway(true);
  world.RunFor(1000);
  world.hub.visible_at_once = true;  // it became so, and nobody could be told
  world.SetHubAway(false);
  EXPECT_EQ(world.Finish(0), absl::OkStatus());
}

TEST(Publish, WaitingForTheGroupEndsAtTheDeadlineWithTheRankRecorded) {
  World world({});
  world.hub.visible_at_once = false;
  world.at(0).memory = world.Content(5);
  EXPECT_EQ(
      world.Do(0, PublishVerb{.version = 5, .wait_for_group = true, .timeout_ms = 500}).code(),
      StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(world.Holds(0, 5));
}

TEST(Publish, WaitingForTheGroupSaysInTheEndWhomItMisses) {
  World world({});
  world.hub.visible_at_once = false;
  world.at(0).memory = world.Content(5);
  const absl::Status missing = absl::DeadlineExceededError("missing: rank 1");
  world.hub.script = [&](size_t worker, const Call& call) {
    const auto* publish = std::get_if<protocol::Publish>(&call.request);
    if (publish == nullptr || !publish->wait_for_group) return false;
    EXPECT_EQ(publish->timeout_ms, 0);
    world.hub.Reply(worker, call.op, missing, {});
    return true;
  };
  EXPECT_EQ(
      world.Do(
          0,
          PublishVerb{.version = 5, .wait_for_group = true, .supersede = true, .timeout_ms = 1500}),
      missing);
  EXPECT_TRUE(world.Holds(0, 5));
}

// Whether the answer is lost, the session breaks, or the version becomes visible just then.
TEST(Publish, WaitingForTheGroupEndsInTimeWithoutThatAnswer) {
  for (const int what : {0, 1, 2}) {
    World world({});
    world.hub.visible_at_once = false;
    world.at(0).memory = world.Content(5);
    world.hub.script = [&](size_t, const Call& call) {
      const auto* publish = std::get_if<protocol::Publish>(&call.request);
      if (publish == nullptr || !publish->wait_for_group) return false;
      if (what == 1) world.SetHubAway(true);
      if (what == 2) world.hub.AllowVisible(5);
      return true;
    };
    world.Ask(0, PublishVerb{.version = 5, .wait_for_group = true, .timeout_ms = 1500});
    world.RunFor(1600);
    ASSERT_TRUE(world.Idle(0)) << what;
    EXPECT_EQ(world.Finish(0).ok(), what == 2) << what;
    EXPECT_TRUE(world.Holds(0, 5)) << what;
  }
}

TEST(Publish, DroppedWhileWaitingForTheGroupFreesTheBuffers) {
  World world({});
  world.hub.visible_at_once = false;
  world.at(0).memory = world.Content(5);
  world.Ask(0, PublishVerb{.version = 5, .wait_for_group = true});
  world.RunFor(100);
  const Generation generation = world.at(0).word.generation;
  world.Deliver(0, protocol::Dropped{generation, absl::AbortedError("a rank restarted")});
  EXPECT_EQ(world.Finish(0).code(), StatusCode::kAborted);
  EXPECT_GT(world.at(0).word.generation, generation);
  EXPECT_FALSE(world.at(0).core->Report().holding);
}

// R2: the hub dropped what the answer, still under way, says it recorded.
TEST(Publish, DroppedBeforeTheAnswerArrivedIsNotHeld) {
  for (const bool again : {false, true}) {
    World world({});
    ASSERT_TRUE(!again || world.Publish(0, 5).ok());
    world.at(0).memory = world.Content(5);
    world.hub.script = [&](size_t, const Call&) { return true; };
    world.Ask(0, PublishVerb{.version = 5});
    world.RunFor(100);
    const Generation generation = world.at(0).word.generation;
    world.Deliver(0, protocol::Dropped{generation, absl::AbortedError("a rank restarted")});
    if (!world.Idle(0)) {
      world.hub.Reply(0, world.hub.calls.back().second.op, absl::OkStatus(),
                      PublishReply{world.hub.PublicationOf(5), 4096, true});
    }
    EXPECT_EQ(world.Finish(0).code(), StatusCode::kAborted);
    EXPECT_FALSE(world.at(0).core->Report().holding);
    EXPECT_GT(world.at(0).word.generation, generation);
  }
}

TEST(Publish, DroppedWhileIdleRaisesTheGeneration) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const Generation generation = world.at(0).word.generation;
  world.Deliver(0, protocol::Dropped{generation - 1, absl::AbortedError("an old one")});
  EXPECT_EQ(world.at(0).word.generation, generation);
  world.Deliver(0, protocol::Dropped{generation, absl::AbortedError("this one")});
  EXPECT_GT(world.at(0).word.generation, generation);
  EXPECT_TRUE(absl::IsAborted(world.at(0).core->Health())) << "nobody else says that it is over";
  EXPECT_EQ(world.at(0).copy_released, 1) << "a copy would keep its memory";
  EXPECT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  EXPECT_EQ(world.at(0).core->Health(), absl::OkStatus()) << "the owner knows";
  EXPECT_TRUE(world.Publish(0, 6).ok());
  EXPECT_EQ(world.at(0).core->Health(), absl::OkStatus());
}

TEST(Probe, IsAnsweredWithWhatTheBuffersMean) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const auto answer = [&](Generation generation) {
    world.Deliver(0, protocol::Probe{generation});
    const auto& message = std::get<protocol::ProbeAnswer>(world.hub.said.back().second);
    EXPECT_EQ(message.generation, generation);
    return message.holds;
  };
  const Generation generation = world.at(0).word.generation;
  EXPECT_TRUE(answer(generation));
  EXPECT_FALSE(answer(generation - 1));
  ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  EXPECT_FALSE(answer(generation));
  EXPECT_FALSE(answer(world.at(0).word.generation));
}

TEST(Unpublish, OfNothingSucceedsAtOnce) {
  World world({});
  EXPECT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  EXPECT_TRUE(world.hub.calls.empty());
}

TEST(Unpublish, ThatTheHubCannotHonourKeepsTheGeneration) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const ControlWord word = world.at(0).word;
  world.at(0).scribbles = false;
  world.hub.script = [&](size_t worker, const Call& call) {
    world.hub.Reply(worker, call.op, absl::ResourceExhaustedError("no room for a copy"));
    return true;
  };
  EXPECT_EQ(world.Do(0, UnpublishVerb{}).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(world.at(0).word, word);
  EXPECT_TRUE(world.Holds(0, 5));
}

TEST(Leave, StopsServingAndRefusesWhatComesAfter) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const Generation generation = world.at(0).word.generation;
  EXPECT_TRUE(world.Do(0, LeaveVerb{}).ok());
  EXPECT_GT(world.at(0).word.generation, generation);
  EXPECT_EQ(world.Publish(0, 6).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(world.Fetch(0).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(world.Do(0, UnpublishVerb{}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(world.Do(0, LeaveVerb{}).code(), StatusCode::kFailedPrecondition);
}

TEST(Leave, OfAWorkerThatHoldsNothing) {
  World world({});
  EXPECT_TRUE(world.Do(0, LeaveVerb{}).ok());
  EXPECT_EQ(world.hub.calls.size(), 1u);
}

}  // namespace
}  // namespace tensorhub::agent::testing
