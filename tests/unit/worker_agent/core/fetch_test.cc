// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Fetches in a world in which nothing dies: served and one-sided, chains, redirects, aborts.
// Covers: R5.12, R6.4, R9.7

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

class BothWays : public ::testing::TestWithParam<bool> {
 protected:
  WorldOptions Options(size_t workers = 2, uint64_t seed = 1) const {
    WorldOptions options;
    options.seed = seed;
    options.workers = workers;
    options.one_sided = GetParam();
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Fetch, BothWays, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "OneSided" : "Served"; });

TEST_P(BothWays, BringsTheVersion) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Fetch(1).ok());
  EXPECT_TRUE(world.Holds(1, 5));
  const FetchOutcome& outcome = world.at(1).done.back().fetch;
  EXPECT_EQ(outcome.version, 5u);
  EXPECT_EQ(outcome.bytes_read, world.Content(5).size());
  EXPECT_EQ(outcome.one_sided, GetParam());
  EXPECT_EQ(outcome.sources, "g0/0");
  EXPECT_EQ(world.at(1).written_bytes, world.Content(5).size()) << "no byte was moved twice";
  EXPECT_FALSE(world.at(1).core->Report().holding->published);
  EXPECT_FALSE(world.at(0).core->Busy());
  EXPECT_FALSE(world.at(1).core->Busy());
}

TEST_P(BothWays, OfWhatIsHeldReadsNothing) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Fetch(1).ok());
  const ControlWord word = world.at(1).word;
  ASSERT_TRUE(world.Fetch(1).ok());
  EXPECT_EQ(world.at(1).word, word);
  EXPECT_EQ(world.at(1).done.back().fetch.bytes_read, 0u);
}

TEST_P(BothWays, ReplacesAnOlderVersionAfterUnpublishingIt) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Fetch(1).ok());
  ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  ASSERT_TRUE(world.Publish(0, 6).ok());
  ASSERT_TRUE(world.Fetch(1).ok());
  EXPECT_TRUE(world.Holds(1, 6));
}

TEST_P(BothWays, WorksForAWholeNumberOfChunksOneChunkAndNone) {
  for (const uint64_t bytes : {uint64_t{8 * 4096}, uint64_t{4096}, uint64_t{1}, uint64_t{0}}) {
    WorldOptions options = Options();
    options.total_bytes = bytes;
    World world(options);
    ASSERT_TRUE(world.Publish(0, 5).ok()) << bytes;
    ASSERT_TRUE(world.Fetch(1).ok()) << bytes;
    EXPECT_TRUE(world.Holds(1, 5)) << bytes;
    EXPECT_TRUE(world.Do(1, UnpublishVerb{}).ok()) << bytes;
  }
}

// R5: everyone reads from the one before, while that one still reads.
TEST_P(BothWays, RunsThroughAChain) {
  World world(Options(5));
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.choose = [](size_t reader) { return reader - 1; };
  for (size_t reader = 1; reader < 5; ++reader) {
    world.Ask(reader, FetchVerb{});
    ASSERT_TRUE(world.RunToValid(reader, 1));
    EXPECT_LT(world.at(reader).word.valid_chunks, world.chunks()) << "it ought to be filling";
  }
  for (size_t reader = 1; reader < 5; ++reader) {
    EXPECT_TRUE(world.Finish(reader).ok());
    EXPECT_EQ(world.at(reader).done.back().fetch.sources, "g" + std::to_string(reader - 1) + "/0");
    EXPECT_EQ(world.at(reader).written_bytes, world.Content(5).size());
  }
}

// A publisher may hear the hub's answer later than a reader that was sent to it.
TEST_P(BothWays, WaitsAtAPublisherThatHasNotHeardTheHub) {
  World world(Options());
  world.at(0).memory = world.Content(5);
  std::optional<Call> publish;
  world.hub.script = [&](size_t worker, const Call& call) {
    if (worker != 0) return false;
    publish = call;
    return true;
  };
  world.Ask(0, PublishVerb{.version = 5});
  ASSERT_TRUE(world.Run([&] { return publish.has_value(); }));
  // The answer is on its way; the hub knows the version, and sends a reader.
  world.hub.script = [&](size_t worker, const Call& call) {
    if (worker != 1) return false;
    if (std::holds_alternative<protocol::JoinFetch>(call.request)) {
      FetchDecision decision;
      decision.transaction = {1, 1};
      decision.publication = world.hub.PublicationOf(5);
      decision.version = 5;
      decision.world_size = 1;
      decision.chunk_bytes = 4096;
      world.hub.Reply(1, call.op, absl::OkStatus(), decision);
    } else if (std::holds_alternative<protocol::BeginRead>(call.request)) {
      world.hub.Reply(1, call.op, absl::OkStatus());
      protocol::Assign assign;
      assign.transaction = {1, 1};
      assign.assignment = 1;
      assign.source = world.at(0).options.self;
      assign.endpoint = Network::EndpointOf(0);
      assign.generation = world.at(0).word.generation;
      assign.publication = world.hub.PublicationOf(5);
      assign.tier = GetParam() ? Tier::kHost : Tier::kRemote;
      world.hub.Direct(1, assign);
    } else {
      world.hub.Reply(1, call.op, absl::OkStatus(), FinishReadReply{5});
    }
    return true;
  };
  world.Ask(1, FetchVerb{});
  world.RunFor(10'000);  // far beyond what a silent source is granted
  EXPECT_FALSE(world.Idle(1));
  EXPECT_EQ(world.at(1).word.valid_chunks, 0u);
  world.hub.Reply(0, publish->op, absl::OkStatus(),
                  PublishReply{world.hub.PublicationOf(5), 4096, true});
  EXPECT_TRUE(world.Finish(1).ok());
  EXPECT_TRUE(world.Finish(0).ok());
  EXPECT_EQ(world.at(1).done.back().fetch.sources, "g0/0");
}

// R3, R5: the reader goes on at its next chunk elsewhere, and the source waits for about one.
TEST_P(BothWays, GoesOnElsewhereWhenItsSourceUnpublishes) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    World world(Options(3, seed));
    world.schedule.slow_percent = 0;  // it is about who waits for how much
    ASSERT_TRUE(world.Publish(0, 5).ok());
    ASSERT_TRUE(world.Publish(1, 5).ok());
    world.hub.choose = [](size_t) { return size_t{0}; };
    world.Ask(2, FetchVerb{});
    ASSERT_TRUE(world.RunToValid(2, 3));
    world.hub.choose = [](size_t) { return size_t{1}; };
    ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
    ASSERT_LT(world.at(2).word.valid_chunks, world.chunks()) << "not the whole shard";
    ASSERT_TRUE(world.Finish(2).ok());
    const FetchOutcome& outcome = world.at(2).done.back().fetch;
    EXPECT_EQ(outcome.sources, "g0/0, g1/0");
    EXPECT_EQ(outcome.bytes_read, world.Content(5).size()) << "each byte was committed once";
    EXPECT_LE(world.at(2).written_bytes, world.Content(5).size() + 3 * 4096) << "one window";
  }
}

// Without anyone else it reads to the end, and the source waits.
TEST_P(BothWays, KeepsTheOnlySourceUntilItIsDone) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(1, 2));
  world.Ask(0, UnpublishVerb{});
  EXPECT_TRUE(world.Finish(1).ok());
  EXPECT_TRUE(world.Finish(0).ok());
  EXPECT_TRUE(world.Holds(1, 5));
}

// Worker 2 is in the middle of version 5 of worker 0, and worker 1 has it, too: a directive to read
// there, without a number.
protocol::Assign ReadingVersion5(World& world) {
  EXPECT_TRUE(world.Publish(0, 5).ok());
  EXPECT_TRUE(world.Publish(1, 5).ok());
  world.hub.choose = [](size_t) { return size_t{0}; };
  world.Ask(2, FetchVerb{});
  EXPECT_TRUE(world.RunToValid(2, 1));
  protocol::Assign other;
  other.transaction = world.at(2).core->Report().open_fetch->transaction;
  other.source = world.at(1).options.self;
  other.endpoint = world.at(1).options.endpoint;
  other.publication = world.hub.PublicationOf(5);
  other.generation = world.at(1).word.generation;
  return other;
}

TEST_P(BothWays, LateAssignmentsAreIgnored) {
  World world(Options(3));
  protocol::Assign late = ReadingVersion5(world);
  late.assignment = 0;
  world.Deliver(2, late);
  late.assignment = 1000;
  late.transaction = {9, 9};
  world.Deliver(2, late);
  late.transaction = world.at(2).core->Report().open_fetch->transaction;
  late.publication = {9, 9};
  world.Deliver(2, late);
  EXPECT_TRUE(world.Finish(2).ok());
  EXPECT_EQ(world.at(2).done.back().fetch.sources, "g0/0");
}

// R3: by a hub that does not know what of it was heard. The reader is about to turn there.
TEST_P(BothWays, AnAssignmentThatIsRepeatedIsNotReleased) {
  World world(Options(3));
  protocol::Assign next = ReadingVersion5(world);
  next.assignment = 1000;
  world.hub.said.clear();
  world.Deliver(2, next);
  world.Deliver(2, next);
  EXPECT_TRUE(world.Finish(2).ok());
  for (const auto& [worker, message] : world.hub.said) {
    const auto* released = std::get_if<protocol::SourceReleased>(&message);
    if (released != nullptr) {
      EXPECT_NE(released->assignment, next.assignment);
    }
  }
  EXPECT_EQ(world.hub.Said<protocol::SourceReleased>(), 1u);
}

// R3, R8: the next hub knows of the reader what its report says. So it does not turn, behind that
// report, to where it was led before, and says again that it has left its source.
TEST(Fetch, ADirectiveOfAnEarlierSessionIsVoid) {
  World world({.workers = 3, .one_sided = true});
  protocol::Assign next = ReadingVersion5(world);
  next.assignment = 1000;
  world.network.gets_hang = true;
  world.RunFor(50);
  world.Deliver(2, next);
  world.Deliver(2, SessionDown{});
  world.network.gets_hang = false;
  const auto reported = world.at(2).core->Report().open_fetch;
  ASSERT_TRUE(reported && reported->assignment != next.assignment);
  world.RunFor(5000);  // what was under way at the source has ended
  EXPECT_EQ(world.at(2).core->Report().open_fetch->assignment, reported->assignment);
  world.hub.said.clear();
  world.Deliver(2, SessionUp{});
  EXPECT_EQ(world.hub.Said<protocol::SourceReleased>(), 1u);
  world.Deliver(2, next);
  EXPECT_TRUE(world.Finish(2).ok());
}

// R8: where it is already it goes on, on its new connection, also if the session ends meanwhile.
TEST(Fetch, AReadThatBeginsAnewOutlivesTheSession) {
  World world({.workers = 3, .one_sided = true});
  ReadingVersion5(world);
  world.network.gets_hang = true;
  world.RunFor(50);
  world.network.gets_hang = false;
  PeerMessage hello;
  hello.kind = PeerKind::kHello;
  hello.from = Network::IncarnationOf(0);
  hello.text = Network::EndpointOf(0);
  world.Hear(2, hello);
  world.Deliver(2, SessionDown{});
  EXPECT_TRUE(world.Run([&] { return world.at(2).word.valid_chunks == world.chunks(); }, 10'000));
}

TEST_P(BothWays, AbortedWhileReadingFreesTheBuffers) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(1, 2));
  const Generation generation = world.at(1).word.generation;
  world.hub.Abort(1, absl::AbortedError("a rank failed"));
  EXPECT_EQ(world.Finish(1).code(), StatusCode::kAborted);
  EXPECT_GT(world.at(1).word.generation, generation);
  EXPECT_FALSE(world.at(1).core->Report().holding);
  EXPECT_TRUE(world.Fetch(1).ok());
}

TEST_P(BothWays, AbortedWhileBeginning) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.script = [&](size_t worker, const Call& call) {
    if (!std::holds_alternative<protocol::BeginRead>(call.request)) return false;
    world.hub.Abort(worker, absl::AbortedError("a rank failed"));
    return true;  // and does not answer
  };
  EXPECT_EQ(world.Fetch(1).code(), StatusCode::kAborted);
  world.hub.script = [&](size_t worker, const Call& call) {
    if (!std::holds_alternative<protocol::BeginRead>(call.request)) return false;
    world.hub.Reply(worker, call.op, absl::NotFoundError("no such transaction"));
    return true;
  };
  EXPECT_EQ(world.Fetch(1).code(), StatusCode::kNotFound);
  world.hub.script = nullptr;
  EXPECT_TRUE(world.Fetch(1).ok());
}

TEST_P(BothWays, BeginsWithItsDirectiveWhateverBecomesOfTheAnswer) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.script = [&](size_t, const Call& call) {
    if (std::holds_alternative<protocol::BeginRead>(call.request)) world.hub.lose_answers = true;
    if (std::holds_alternative<protocol::FinishRead>(call.request)) world.hub.lose_answers = false;
    return false;
  };
  EXPECT_EQ(world.Fetch(1), absl::OkStatus());
  EXPECT_TRUE(world.Holds(1, 5));
}

TEST_P(BothWays, AbortedWhileUnpublishingWhatItHeld) {
  World world(Options(3));
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Publish(1, 4).ok());
  ASSERT_TRUE(world.Do(2, FetchVerb{{VersionSelector::Kind::kExact, 4}}).ok());
  std::optional<Call> unpublish;
  world.hub.script = [&](size_t, const Call& call) {
    if (!std::holds_alternative<protocol::Unpublish>(call.request)) return false;
    unpublish = call;
    return true;
  };
  world.Ask(2, FetchVerb{});
  ASSERT_TRUE(world.Run([&] { return unpublish.has_value(); }));
  world.hub.Abort(2, absl::AbortedError("a rank failed"));
  world.RunFor(100);
  world.hub.Reply(2, unpublish->op, absl::OkStatus(), UnpublishReply{});
  EXPECT_EQ(world.Finish(2).code(), StatusCode::kAborted);
  world.hub.script = nullptr;
  EXPECT_TRUE(world.Fetch(2).ok());
}

// R9: an abort without a reason must not pass for a success.
TEST_P(BothWays, AbortedWithoutAReasonIsStillAborted) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(1, 2));
  world.hub.Abort(1, absl::OkStatus());
  EXPECT_FALSE(world.Finish(1).ok());
}

TEST_P(BothWays, AHubThatCallsHalfAVersionCommittedIsNotBelieved) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.script = [&](size_t worker, const Call& call) {
    if (!std::holds_alternative<protocol::FinishRead>(call.request)) return false;
    world.hub.Reply(worker, call.op, absl::OkStatus(), FinishReadReply{5});
    return true;
  };
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(1, 2));
  world.hub.Abort(1, absl::AbortedError("a rank failed"));
  EXPECT_FALSE(world.Finish(1).ok());
  EXPECT_FALSE(world.at(1).core->Report().holding);
}

// R8: its number was published anew while it was away, as the hub says before it tells the outcome.
TEST_P(BothWays, WhatIsDroppedBeforeTheOutcomeIsHeardIsNotHeld) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.script = [&](size_t worker, const Call& call) {
    if (!std::holds_alternative<protocol::FinishRead>(call.request)) return false;
    world.Deliver(worker, protocol::Dropped{world.at(worker).word.generation,
                                            absl::AlreadyExistsError("another publication")});
    world.hub.OnDeath(worker);  // who lists it no more, either
    world.hub.Reply(worker, call.op, absl::OkStatus(), FinishReadReply{5});
    return true;
  };
  world.Ask(1, FetchVerb{});
  EXPECT_EQ(world.Finish(1), absl::OkStatus());
  EXPECT_FALSE(world.at(1).core->Report().holding);
  EXPECT_TRUE(absl::IsAborted(world.at(1).core->Health()));
  world.hub.script = nullptr;
  EXPECT_EQ(world.Fetch(1), absl::OkStatus());
  EXPECT_TRUE(world.Holds(1, 5));
}

// R8: another hub has judged what was reported anew, and lists it.
TEST_P(BothWays, WhatAnotherHubDroppedBeforeTheOutcomeIsHeardIsHeld) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.script = [&](size_t worker, const Call& call) {
    if (!std::holds_alternative<protocol::FinishRead>(call.request)) return false;
    world.schedule.Soon(worker, [&world, worker, op = call.op] {
      world.Deliver(worker, protocol::Dropped{world.at(worker).word.generation,
                                              absl::AlreadyExistsError("another publication")});
      world.Deliver(worker, SessionDown{});
      world.Deliver(worker, SessionUp{});
      world.hub.Reply(worker, op, absl::OkStatus(), FinishReadReply{5});
    });
    return true;
  };
  world.Ask(1, FetchVerb{});
  EXPECT_EQ(world.Finish(1), absl::OkStatus());
  EXPECT_TRUE(world.at(1).core->Report().holding);
  EXPECT_TRUE(world.Holds(1, 5));
}

TEST_P(BothWays, AVersionHeldByNobodyIsNotFoundAndWhatIsHeldStays) {
  World world(Options());
  ASSERT_TRUE(world.Publish(0, 5).ok());
  EXPECT_EQ(world.Do(0, FetchVerb{{VersionSelector::Kind::kExact, 9}}).code(),
            StatusCode::kNotFound);
  EXPECT_TRUE(world.Holds(0, 5));
}

TEST(Fetch, ADecisionThatMakesNoSenseIsAnError) {
  const auto answered = [](decltype(CallReply::payload) payload) {
    World world({});
    world.hub.script = [&](size_t worker, const Call& call) {
      if (std::holds_alternative<protocol::FinishRead>(call.request)) {
        world.hub.Reply(worker, call.op, std::get<protocol::FinishRead>(call.request).result);
      } else {
        world.hub.Reply(worker, call.op, absl::OkStatus(), payload);
      }
      return true;
    };
    return world.Fetch(0).code();
  };
  FetchDecision decision{{1, 1}, {2, 2}, 5, 1, 4096};
  EXPECT_EQ(answered(std::monostate()), StatusCode::kInternal);
  decision.chunk_bytes = 0;
  EXPECT_EQ(answered(decision), StatusCode::kInvalidArgument);
  decision.chunk_bytes = 4096;
  decision.publication = {};
  EXPECT_EQ(answered(decision), StatusCode::kInternal);
  decision.publication = {2, 2};
  decision.already_held = true;
  EXPECT_EQ(answered(decision), StatusCode::kAborted);
}

// R1: whatever the hub says in the end, a publication does not get another number.
TEST(Fetch, WhatIsHeldKeepsItsNumber) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.script = [&](size_t worker, const Call& call) {
    CallReply reply;
    if (std::holds_alternative<protocol::JoinFetch>(call.request)) {
      reply.payload = FetchDecision{{1, 1}, world.hub.PublicationOf(5), 6, 1, 4096, {},
                                    {},     /*already_held=*/true};
    } else {
      reply.payload = FinishReadReply{6};
    }
    world.hub.Reply(worker, call.op, absl::OkStatus(), reply.payload);
    return true;
  };
  EXPECT_EQ(world.Fetch(0).code(), StatusCode::kAborted);
  EXPECT_TRUE(world.Holds(0, 5));
}

TEST(Fetch, MemoryThatCannotBeMappedIsServed) {
  World world({.one_sided = true});
  world.network.import_failure_percent = 100;
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Fetch(1).ok());
  EXPECT_FALSE(world.at(1).done.back().fetch.one_sided);
}

TEST(Fetch, ADescriptionTravelsOncePerPeer) {
  World world({.one_sided = true});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Fetch(1).ok());
  ASSERT_TRUE(world.Do(1, UnpublishVerb{}).ok());
  world.network.import_failure_percent = 0;
  ASSERT_TRUE(world.Fetch(1).ok());
  EXPECT_TRUE(world.at(1).done.back().fetch.one_sided);
}

TEST(Fetch, ASourceWithoutADescriptionServesOnTheSameHost) {
  World world({});
  world.hub.tier = Tier::kHost;
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Fetch(1).ok());
  EXPECT_FALSE(world.at(1).done.back().fetch.one_sided);
}

}  // namespace
}  // namespace tensorhub::agent::testing
