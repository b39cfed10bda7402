// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A fetch that gives up what it held: the hub begins the read as it frees the buffers, and may send
// a source, and readers, before this worker has heard of it (R3, R4).
// Covers: R4.8, R3.7

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

// Worker 2 holds version 4 of worker 1, and is asked to fetch version 5 of worker 0.
class ThenRead : public ::testing::TestWithParam<bool> {
 protected:
  ThenRead() {
    EXPECT_TRUE(world_.Publish(0, 5).ok());
    EXPECT_TRUE(world_.Publish(1, 4).ok());
    EXPECT_TRUE(world_.Do(2, FetchVerb{{VersionSelector::Kind::kExact, 4}}).ok());
    world_.hub.calls.clear();
  }
  // The hub has begun the read; the answer is lost.
  void AskAndLoseTheAnswer() {
    world_.hub.script = [this](size_t, const Call& call) {
      const bool unpublishes = std::holds_alternative<protocol::Unpublish>(call.request);
      if (unpublishes) world_.hub.lose_answers = true;
      return false;
    };
    world_.Ask(2, FetchVerb{});
    ASSERT_TRUE(world_.Run([&] { return world_.hub.SourceOf(2).has_value(); }));
    world_.hub.script = nullptr;
    world_.RunFor(100);
    world_.hub.lose_answers = false;
  }
  // The hub does not hear the unpublish.
  Call AskAndTakeTheCall() {
    std::optional<Call> unpublish;
    world_.hub.script = [&](size_t, const Call& call) {
      if (!std::holds_alternative<protocol::Unpublish>(call.request)) return false;
      unpublish = call;
      return true;
    };
    world_.Ask(2, FetchVerb{});
    EXPECT_TRUE(world_.Run([&] { return unpublish.has_value(); }));
    world_.hub.script = nullptr;
    return *unpublish;
  }
  // It repeats what was not answered.
  void Reconnect() {
    world_.SetHubAway(true);
    world_.RunFor(10);
    world_.SetHubAway(false);
  }
  size_t Begins() const {
    return world_.hub.CountCalls(2, Call{0, protocol::BeginRead{}}.request.index());
  }
  bool SaidToHold(Generation generation) {
    world_.hub.said.clear();
    world_.Deliver(2, protocol::Probe{generation});
    const auto& answer = std::get<protocol::ProbeAnswer>(world_.hub.said.at(0).second);
    EXPECT_EQ(answer.generation, generation);
    return answer.holds;
  }
  std::string SourcesOf(size_t index) { return world_.at(index).done.back().fetch.sources; }

  World world_{{.workers = 4, .one_sided = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Fetch, ThenRead, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "OneSided" : "Served"; });

TEST_P(ThenRead, NeedsNoCallOfItsOwn) {
  EXPECT_TRUE(world_.Fetch(2).ok());
  EXPECT_EQ(Begins(), 0u);
  EXPECT_EQ(world_.hub.calls.size(), 3u);
}

TEST_P(ThenRead, NeedsOneAtAnOlderHub) {
  world_.hub.knows_then_read = false;
  EXPECT_TRUE(world_.Fetch(2).ok());
  EXPECT_EQ(Begins(), 1u);
}

// R3: the buffers are the old version's until the answer has come.
TEST_P(ThenRead, BeginsHereWithTheAnswer) {
  const ControlWord before = world_.at(2).word;
  AskAndLoseTheAnswer();
  EXPECT_EQ(world_.at(2).word, before);
  EXPECT_TRUE(world_.Holds(2, 4));
  Reconnect();
  EXPECT_TRUE(world_.Finish(2).ok());
  EXPECT_TRUE(world_.Holds(2, 5));
  EXPECT_EQ(Begins(), 0u);
}

TEST_P(ThenRead, ReadersThatComeBeforeItWait) {
  AskAndLoseTheAnswer();
  world_.hub.choose = [](size_t) { return size_t{2}; };
  world_.Ask(3, FetchVerb{});
  world_.RunFor(300);
  EXPECT_EQ(world_.at(3).word.valid_chunks, 0u);
  Reconnect();
  EXPECT_TRUE(world_.Finish(2).ok());
  EXPECT_TRUE(world_.Finish(3).ok());
  EXPECT_EQ(SourcesOf(3), "g2/0");
}

TEST_P(ThenRead, ReadersThatComeBeforeItAreRefusedIfItFails) {
  AskAndLoseTheAnswer();
  world_.hub.choose = [](size_t) { return size_t{2}; };
  world_.Ask(3, FetchVerb{});
  world_.RunFor(300);
  world_.hub.Abort(2, absl::DataLossError("no copy is sound"));
  world_.RunFor(10);
  Reconnect();
  EXPECT_EQ(world_.Finish(2).code(), StatusCode::kDataLoss);
  EXPECT_TRUE(world_.Finish(3).ok());
  EXPECT_EQ(SourcesOf(3), "g2/0, g0/0");
}

// R8: it is doubted before it has begun, and does not disown what it is about to hold.
TEST_P(ThenRead, StandsByWhatItHasAnnounced) {
  const Generation held = world_.at(2).word.generation;
  AskAndLoseTheAnswer();
  EXPECT_TRUE(SaidToHold(held));
  EXPECT_TRUE(SaidToHold(held + 2));
  EXPECT_FALSE(SaidToHold(held + 1));
  EXPECT_FALSE(SaidToHold(held + 3));
  Reconnect();
  EXPECT_TRUE(world_.Finish(2).ok());
  EXPECT_EQ(world_.at(2).word.generation, held + 2);
}

// What the hub that is there next does not hear in the report, it has to be told.
TEST_P(ThenRead, WhatWasHeardOutsideASessionIsVoid) {
  const Call unpublish = AskAndTakeTheCall();
  world_.Deliver(2, SessionDown{});
  world_.Deliver(
      2, CallReply{unpublish.op, absl::OkStatus(), UnpublishReply{true, 0, /*begun=*/true}});
  world_.RunFor(10);
  EXPECT_EQ(Begins(), 0u) << "there is nobody to call";
  world_.Deliver(2, SessionUp{});
  EXPECT_TRUE(world_.Finish(2).ok());
  EXPECT_EQ(Begins(), 1u);
}

TEST_P(ThenRead, ADirectiveOfAnEarlierSessionIsVoid) {
  const Call unpublish = AskAndTakeTheCall();
  protocol::Assign early;
  early.transaction = std::get<protocol::Unpublish>(unpublish.request).then_read->transaction;
  early.assignment = 1000;
  early.source = world_.at(1).options.self;
  early.endpoint = world_.at(1).options.endpoint;
  early.publication = world_.hub.PublicationOf(5);
  world_.Deliver(2, early);
  world_.Deliver(2, SessionDown{});
  world_.Deliver(2, SessionUp{});
  world_.hub.Reply(2, unpublish.op, absl::OkStatus(), UnpublishReply{});
  EXPECT_TRUE(world_.Finish(2).ok());
  EXPECT_EQ(SourcesOf(2), "g0/0");
  EXPECT_EQ(Begins(), 1u);
}

// R4: readers may have been sent for the announced generation, which never came to mean anything.
TEST_P(ThenRead, WhatWasAnnouncedInVainIsSkipped) {
  const Generation held = world_.at(2).word.generation;
  AskAndLoseTheAnswer();
  world_.hub.Abort(2, absl::DataLossError("no copy is sound"));
  world_.RunFor(10);
  Reconnect();
  EXPECT_EQ(world_.Finish(2).code(), StatusCode::kDataLoss);
  EXPECT_TRUE(world_.Fetch(2).ok());
  EXPECT_EQ(world_.at(2).word.generation, held + 3);
}

// R4: neither is it reused if the buffers go on holding what they held.
TEST_P(ThenRead, WhatWasAnnouncedInVainIsSkippedByBuffersThatStayHeld) {
  const Generation held = world_.at(2).word.generation;
  const Call unpublish = AskAndTakeTheCall();
  world_.hub.Reply(2, unpublish.op, absl::ResourceExhaustedError("the last copy"),
                   std::monostate());
  EXPECT_EQ(world_.Finish(2).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(world_.Holds(2, 4));
  EXPECT_EQ(world_.at(2).word.generation, held);
  const Call second = AskAndTakeTheCall();
  const auto announced = std::get<protocol::Unpublish>(second.request).then_read->generation;
  EXPECT_GT(announced, held + 2);
  Reconnect();
  EXPECT_TRUE(world_.Finish(2).ok());
  EXPECT_EQ(world_.at(2).word.generation, announced);
}

// R3: it was led away from the first one before it had turned to it, which need not wait for that.
TEST_P(ThenRead, ReleasesSourcesThatItNeverTurnedTo) {
  EXPECT_TRUE(world_.Publish(3, 5).ok());
  world_.hub.choose = [](size_t) { return size_t{3}; };
  AskAndLoseTheAnswer();
  world_.hub.choose = [](size_t) { return size_t{0}; };
  world_.Ask(3, UnpublishVerb{});
  EXPECT_TRUE(world_.Finish(3).ok());
  world_.Deliver(2, CallReply{world_.hub.calls.at(1).second.op, absl::OkStatus(),
                              UnpublishReply{true, 0, /*begun=*/true}});
  EXPECT_TRUE(world_.Finish(2).ok());
  EXPECT_EQ(SourcesOf(2), "g0/0");
}

// R4: what was held is lost while the hub frees it; the announced generation is still the read's.
TEST_P(ThenRead, LosesWhatItHeldMeanwhile) {
  const Generation held = world_.at(2).word.generation;
  const Call unpublish = AskAndTakeTheCall();
  world_.Deliver(2, protocol::Dropped{held, absl::AbortedError("it was rewound")});
  EXPECT_EQ(world_.at(2).word.generation, held + 1);
  world_.hub.Reply(2, unpublish.op, absl::OkStatus(), UnpublishReply{});
  EXPECT_TRUE(world_.Finish(2).ok());
  EXPECT_EQ(world_.at(2).word.generation, held + 2);
  EXPECT_TRUE(world_.Holds(2, 5));
}

// R9: strangers do not make it remember without bound.
TEST_P(ThenRead, KeepsOnlySoManyReaders) {
  constexpr Incarnation kStranger = 7777;
  AskAndLoseTheAnswer();
  PeerMessage message;
  message.kind = PeerKind::kHello;
  message.from = kStranger;
  message.text = "somewhere";
  world_.Hear(2, message);
  message.kind = PeerKind::kOpen;
  message.generation = world_.at(2).word.generation + 2;
  message.publication = world_.hub.PublicationOf(5);
  message.chunk_bytes = 4096;
  for (message.read = 1; message.read <= 1024; ++message.read) world_.Hear(2, message);
  EXPECT_TRUE(world_.Heard(kStranger).empty());
  world_.Hear(2, message);
  const auto refused = world_.Heard(kStranger);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].kind, PeerKind::kRefuse);
  EXPECT_EQ(refused[0].read, 1025u);
  message.kind = PeerKind::kClose;
  message.read = 1;
  world_.Hear(2, message);
  message.kind = PeerKind::kOpen;
  world_.Hear(2, message);
  EXPECT_TRUE(world_.Heard(kStranger).empty()) << "there was room again";
  Reconnect();
  EXPECT_TRUE(world_.Finish(2).ok());
}

}  // namespace
}  // namespace tensorhub::agent::testing
