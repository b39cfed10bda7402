// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The hub goes and comes back (R8): calls are repeated with their op, transfers go on, reports say
// what the buffers mean; a worker that is refused for good ends its verbs.
// Covers: R8.17, R3.9

#include <set>

#include "common/remedy.h"
#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

std::set<OpId> OpsOf(const World& world, size_t worker) {
  std::set<OpId> ops;
  for (const auto& [who, call] : world.hub.calls) {
    if (who == worker) ops.insert(call.op);
  }
  return ops;
}

// Takes the hub away when the call is made (it hears it or not), and brings it back later.
template <typename Request>
void AwayAt(World& world, size_t worker, bool heard) {
  world.hub.script = [&world, worker, heard, done = false](size_t who, const Call& call) mutable {
    if (done || who != worker || !std::holds_alternative<Request>(call.request)) return false;
    done = true;
    world.SetHubAway(true);
    world.schedule.At(world.schedule.now() + 700'000, kNobody, [&] { world.SetHubAway(false); });
    if (!heard) world.hub.OnCancel(who, call.op);  // as if it had never arrived
    return !heard;
  };
}

template <typename Request>
void ExpectRiddenOut(bool one_sided, bool heard) {
  World world({.seed = 3, .one_sided = one_sided});
  const bool begins = std::is_same_v<Request, protocol::BeginRead>;
  world.hub.knows_then_read = !begins;
  const size_t target = std::is_same_v<Request, protocol::Publish> ? 0 : 1;
  AwayAt<Request>(world, target, heard);
  ASSERT_EQ(world.Publish(0, 5), absl::OkStatus());
  ASSERT_EQ(world.Publish(1, 4), absl::OkStatus());
  ASSERT_EQ(world.Fetch(1), absl::OkStatus());
  EXPECT_TRUE(world.Holds(1, 5));
  const size_t index = Call{0, Request{}}.request.index();
  EXPECT_GE(world.hub.CountCalls(target, index), 2u);
  // Publish; or publish, join, unpublish, perhaps begin, finish: an op each, however often
  // repeated.
  EXPECT_EQ(OpsOf(world, target).size(), target == 0 ? 1u : begins ? 5u : 4u);
}

TEST(HubAway, DuringEachCall) {
  for (const bool heard : {false, true}) {
    ExpectRiddenOut<protocol::Publish>(false, heard);
    ExpectRiddenOut<protocol::JoinFetch>(false, heard);
    ExpectRiddenOut<protocol::Unpublish>(false, heard);
    ExpectRiddenOut<protocol::BeginRead>(false, heard);
    ExpectRiddenOut<protocol::BeginRead>(true, heard);
    ExpectRiddenOut<protocol::FinishRead>(false, heard);
  }
}

// R8: by this the hub knows that it has not heard everything of this worker yet.
TEST(HubAway, TheReportSaysWhichCallIsRepeated) {
  World world({});
  EXPECT_EQ(world.at(0).core->Report().repeats, 0u);
  world.at(0).memory = world.Content(5);
  world.hub.SetAway(true);
  world.Ask(0, PublishVerb{.version = 5});
  world.RunFor(1000);
  EXPECT_EQ(OpsOf(world, 0), std::set<OpId>{world.at(0).core->Report().repeats});
  world.hub.SetAway(false);
  EXPECT_EQ(world.Finish(0), absl::OkStatus());
  EXPECT_EQ(world.at(0).core->Report().repeats, 0u);
}

TEST(HubAway, AVerbAskedMeanwhileIsCalledWhenItIsBack) {
  World world({});
  world.SetHubAway(true);
  world.RunFor(100);
  world.at(0).memory = world.Content(5);
  world.Ask(0, PublishVerb{.version = 5});
  world.RunFor(1000);
  EXPECT_TRUE(world.hub.calls.empty());
  world.SetHubAway(false);
  EXPECT_EQ(world.Finish(0), absl::OkStatus());
}

TEST(HubAway, AnUnreachableHubIsTriedAgainWhileTheSessionStands) {
  World world({});
  world.hub.SetAway(true);  // calls fail, but nobody is told that the session went
  world.at(0).memory = world.Content(5);
  world.Ask(0, PublishVerb{.version = 5});
  world.RunFor(1000);
  EXPECT_GE(world.hub.calls.size(), 5u);
  EXPECT_LE(world.hub.calls.size(), 11u) << "not faster than every 100 ms";
  EXPECT_EQ(OpsOf(world, 0).size(), 1u);
  world.hub.SetAway(false);
  EXPECT_EQ(world.Finish(0), absl::OkStatus());
}

TEST(HubAway, AnAnswerOfAnUnknownWorkerIsRepeated) {
  World world({});
  int refused = 0;
  world.hub.script = [&](size_t worker, const Call& call) {
    if (++refused > 1) return false;
    world.Deliver(worker, CallReply{call.op,
                                    WithRemedy(absl::FailedPreconditionError("not connected"),
                                               Remedy::kOpenSession),
                                    {}});
    world.hub.OnCancel(worker, call.op);
    return true;
  };
  EXPECT_EQ(world.Publish(0, 5), absl::OkStatus());
  EXPECT_EQ(OpsOf(world, 0).size(), 1u);
}

// RESOURCE_EXHAUSTED by itself is the hub's answer (R7). A bound in time that was met is none.
TEST(HubAway, ACallThatMetABoundIsRepeatedInAWhile) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  int refused = 0;
  world.hub.script = [&](size_t worker, const Call& call) {
    if (++refused > 2) return false;
    world.Deliver(worker, CallReply{call.op,
                                    WithRemedy(absl::ResourceExhaustedError("too many calls"),
                                               Remedy::kCallAgain),
                                    {}});
    world.hub.OnCancel(worker, call.op);
    return true;
  };
  const TimeMs before = world.now_ms();
  EXPECT_EQ(world.Do(0, UnpublishVerb{10'000}), absl::OkStatus());
  EXPECT_GE(world.now_ms() - before, 2000);
}

// R8: a worker cut off from the hub needs none to get its buffers back.
TEST(HubAway, UnpublishAndLeaveEndInTime) {
  for (const bool leave : {false, true}) {
    World world({});
    ASSERT_TRUE(world.Publish(0, 5).ok());
    world.SetHubAway(true);
    world.RunFor(100);
    const TimeMs before = world.now_ms();
    const Generation generation = world.at(0).word.generation;
    const Verb verb = leave ? Verb(LeaveVerb{1000}) : Verb(UnpublishVerb{1000});
    EXPECT_EQ(world.Do(0, verb), absl::OkStatus());
    EXPECT_LE(world.now_ms() - before, 1100);
    EXPECT_GT(world.at(0).word.generation, generation);
  }
}

TEST(HubAway, AReadUnderWayGoesOnAndCommitsAfterwards) {
  for (const bool one_sided : {false, true}) {
    World world({.one_sided = one_sided});
    ASSERT_TRUE(world.Publish(0, 5).ok());
    world.Ask(1, FetchVerb{});
    ASSERT_TRUE(world.RunToValid(1, 1));
    world.SetHubAway(true);
    ASSERT_TRUE(world.RunToValid(1, world.chunks()));
    world.RunFor(500);
    EXPECT_FALSE(world.Idle(1));
    const auto report = world.at(1).core->Report();
    EXPECT_TRUE(report.open_fetch->finished);
    EXPECT_FALSE(report.holding->complete) << "the group has not committed";
    world.SetHubAway(false);
    EXPECT_EQ(world.Finish(1), absl::OkStatus());
  }
}

TEST(HubAway, ALostSourceIsReportedAgain) {
  World world({.workers = 3});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Publish(1, 5).ok());
  world.hub.choose = [](size_t) { return size_t{0}; };
  world.Ask(2, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(2, 1));
  world.SetHubAway(true);
  world.network.Kill(0);
  world.RunFor(500);
  world.hub.choose = [](size_t) { return size_t{1}; };
  world.SetHubAway(false);
  EXPECT_EQ(world.Finish(2), absl::OkStatus());
  EXPECT_EQ(world.at(2).done.back().fetch.sources, "g0/0, g1/0");
}

TEST(Report, FollowsAFetchThroughItsPhases) {
  World world({});
  world.hub.knows_then_read = false;
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Publish(1, 4).ok());
  std::vector<std::string> seen;
  world.hub.script = [&](size_t worker, const Call& call) {
    const StateReport report = world.at(worker).core->Report();
    seen.push_back(std::to_string(call.request.index()));
    if (report.holding) {
      seen.back() += " holds " + std::to_string(report.holding->version);
      if (report.holding->complete) seen.back() += " whole";
    }
    if (report.open_fetch) {
      seen.back() += " fetches " + std::to_string(report.open_fetch->version);
      if (report.open_fetch->source) seen.back() += " from " + report.open_fetch->source->key.group;
      if (report.open_fetch->finished) seen.back() += " finished";
    }
    return false;
  };
  ASSERT_EQ(world.Fetch(1), absl::OkStatus());
  const std::vector<std::string> expected = {
      "2 holds 4 whole",                       // JoinFetch
      "1 holds 4 whole fetches 5",             // Unpublish
      "3 holds 5 fetches 5",                   // BeginRead
      "4 holds 5 fetches 5 from g0 finished",  // FinishRead
  };
  EXPECT_EQ(seen, expected);
  const StateReport report = world.at(1).core->Report();
  EXPECT_FALSE(report.open_fetch);
  EXPECT_TRUE(report.holding->complete);
}

TEST(Report, OfAPublishThatIsNotAnsweredHoldsNothing) {
  World world({});
  world.hub.script = [](size_t, const Call&) { return true; };
  world.Ask(0, PublishVerb{.version = 5});
  world.RunFor(10);
  EXPECT_FALSE(world.at(0).core->Report().holding);
}

TEST(Heartbeat, BeatsWhileTheSessionStands) {
  World world({.workers = 1});
  const auto beats = [&] {
    size_t count = 0;
    for (const auto& [who, what] : world.hub.said) {
      count += std::holds_alternative<protocol::Heartbeat>(what) ? 1 : 0;
    }
    return count;
  };
  world.RunFor(10'500);
  EXPECT_EQ(beats(), 10u);
  world.Deliver(0, SessionDown{});
  world.RunFor(10'000);
  EXPECT_EQ(beats(), 10u);
}

// Refused in the middle of each verb, and before the next.
TEST(Refused, EndsEveryVerb) {
  for (const bool one_sided : {false, true}) {
    for (TimeMs at_ms = 0; at_ms < 60; at_ms += 2) {
      World world({.seed = uint64_t(at_ms + 1), .one_sided = one_sided});
      ASSERT_TRUE(world.Publish(0, 5).ok());
      ASSERT_TRUE(world.Publish(1, 4).ok());
      world.Ask(1, FetchVerb{});
      world.RunFor(at_ms);
      if (world.Idle(1)) continue;
      world.Deliver(1, SessionRefused{absl::AbortedError("replaced")});
      const TimeMs before = world.now_ms();
      EXPECT_FALSE(world.Finish(1).ok());
      EXPECT_LE(world.now_ms() - before, 3100);
      EXPECT_EQ(world.Publish(1, 6).code(), StatusCode::kAborted);
      EXPECT_EQ(world.Fetch(1).code(), StatusCode::kAborted);
      EXPECT_EQ(world.Do(1, UnpublishVerb{100}), absl::OkStatus());
      EXPECT_EQ(world.Do(1, LeaveVerb{100}), absl::OkStatus());
    }
  }
}

// R3: nobody is sent here any more, so only who reads now is waited for.
TEST(Refused, UnpublishWaitsForReadersOnly) {
  for (const bool read_from : {false, true}) {
    World world({});
    ASSERT_TRUE(world.Publish(0, 5).ok());
    if (read_from) {
      world.Ask(1, FetchVerb{});
      ASSERT_TRUE(world.RunToValid(1, 2));
    }
    world.Deliver(0, SessionRefused{absl::AbortedError("replaced")});
    const TimeMs before = world.now_ms();
    EXPECT_EQ(world.Do(0, UnpublishVerb{60'000}), absl::OkStatus());
    EXPECT_LE(world.now_ms() - before, 2000);
    const absl::Status read = read_from ? world.Finish(1) : absl::OkStatus();
    EXPECT_EQ(read, absl::OkStatus());
  }
}

TEST(Refused, WhilePublishingOrWaitingForTheGroup) {
  for (const bool answered : {false, true}) {
    World world({});
    world.hub.visible_at_once = false;
    if (!answered) world.hub.script = [](size_t, const Call&) { return true; };
    world.at(0).memory = world.Content(5);
    world.Ask(0, PublishVerb{.version = 5, .wait_for_group = true});
    world.RunFor(100);
    world.Deliver(0, SessionRefused{absl::AbortedError("replaced")});
    EXPECT_EQ(world.Finish(0).code(), StatusCode::kAborted);
  }
}

}  // namespace
}  // namespace tensorhub::agent::testing
