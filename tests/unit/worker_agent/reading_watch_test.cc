// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/reading_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorhub::agent {
namespace {

using testing::ElementsAre;
using testing::Pair;

// A fetch of one worker, as its core would run it.
class ReadingWatchTest : public testing::Test {
 protected:
  void In(const Event& event) { watch_.See(event, now_us_); }
  void Out(const Effect& effect) { watch_.See(effect, now_us_); }
  void After(int64_t us) { now_us_ += us; }
  void Assign(Incarnation peer, AssignmentNumber number = 1, Tier tier = Tier::kHost) {
    protocol::Assign assign;
    assign.assignment = number;
    assign.source = {{"m", "trainer", static_cast<Rank>(peer)}, peer};
    assign.tier = tier;
    In(assign);
  }
  void Say(PeerKind kind, Incarnation peer, uint64_t read) {
    PeerMessage message;
    message.kind = kind;
    message.from = 99;
    message.to = peer;
    message.read = read;
    Out(SendMessage{peer, Encode(message)});
  }
  void Finish(absl::Status status = absl::OkStatus()) {
    VerbDone done{std::move(status), {}};
    done.fetch.version = 7;
    Out(done);
  }

  ReadingWatch watch_;
  int64_t now_us_ = 1'000'000;
};

TEST_F(ReadingWatchTest, TimeGoesToThePhaseUnderWay) {
  In(VerbAsked{FetchVerb{}});
  Out(Call{1, protocol::JoinFetch{}});
  After(10);
  Out(Call{1, protocol::JoinFetch{}});  // repeated: the hub was away
  After(5);
  Out(Call{2, protocol::Unpublish{}});
  After(20);
  In(CallReply{2, absl::OkStatus(), UnpublishReply{true, 0, true}});
  After(30);
  Assign(1);
  After(40);
  watch_.CountTime(now_us_);
  EXPECT_THAT(watch_.Take().phase_us, ElementsAre(15, 20, 30, 40, 0)) << "while it runs";
  After(1);
  Out(Call{3, protocol::FinishRead{}});
  After(50);
  Finish();
  const Tally tally = watch_.Take();
  EXPECT_THAT(tally.phase_us, ElementsAre(0, 0, 0, 1, 50));
  EXPECT_EQ(tally.succeeded, 1u);
  const FetchRecord fetch = *watch_.TakeEnded();
  EXPECT_EQ(fetch.version, 7u);
  ASSERT_EQ(fetch.spans.size(), kFetchPhases.size());
  for (size_t i = 0; i < fetch.spans.size(); ++i) {
    EXPECT_EQ(fetch.spans[i].phase, i);
    const bool last = i + 1 == fetch.spans.size();
    EXPECT_EQ(fetch.spans[i].end_us, last ? fetch.end_us : fetch.spans[i + 1].begin_us);
  }
}

TEST_F(ReadingWatchTest, AnEarlySourceLeavesNothingToWaitFor) {
  In(VerbAsked{FetchVerb{}});
  Out(Call{1, protocol::Unpublish{}});
  Assign(1);
  After(20);
  Out(Call{2, protocol::BeginRead{}});
  After(30);
  Finish(absl::AbortedError("another rank failed"));
  const Tally tally = watch_.Take();
  EXPECT_THAT(tally.phase_us, ElementsAre(0, 20, 0, 30, 0));
  EXPECT_EQ(tally.failed, 1u);
}

TEST_F(ReadingWatchTest, BytesCountOnceTheirWayIsKnown) {
  In(VerbAsked{FetchVerb{}});
  Assign(1);
  Assign(2, 2, Tier::kRemote);
  Say(PeerKind::kOpen, 1, 11);
  Out(CopyIn{1, {}, "12345"});
  EXPECT_TRUE(watch_.Take().read.empty());
  In(PathKnown{1, 0, "served over tcp"});
  Out(CopyIn{1, {}, "123"});
  EXPECT_THAT(watch_.Take().read, ElementsAre(Pair(Pair(Tier::kHost, "served over tcp"), 8)));
  Out(Get{2, {{0, 0, 100}, {200, 200, 50}}, 5});
  Out(Get{2, {{0, 0, 1000}}, 6});
  In(GetDone{5, absl::OkStatus()});
  In(GetDone{6, absl::UnavailableError("gone")});
  Finish();
  EXPECT_THAT(watch_.Take().read, ElementsAre(Pair(Pair(Tier::kRemote, "not said"), 150)));
  const FetchRecord fetch = *watch_.TakeEnded();
  ASSERT_EQ(fetch.streams.size(), 1u);
  EXPECT_EQ(fetch.streams[0].bytes, 8u);
  EXPECT_EQ(fetch.streams[0].read, 11u);
  EXPECT_EQ(fetch.streams[0].source.rank, 1u);
}

// Either side may have found itself deaf, or a connection broke: what follows is another read.
TEST_F(ReadingWatchTest, AReadEndsWithItsConnection) {
  PeerMessage hello;
  hello.from = 1;
  const std::string greeting = Encode(hello);
  const Event lost[] = {MessageArrived{greeting, {}}, TransportReplaced{"elsewhere"},
                        PeerFailed{1, {}}};
  In(VerbAsked{FetchVerb{}});
  Assign(1);
  std::vector<int64_t> ends;
  for (const Event& event : lost) {
    Say(PeerKind::kOpen, 1, ends.size());
    Say(PeerKind::kOpen, 2, ends.size());
    After(10);
    In(event);
    ends.push_back(now_us_);
    After(5);
  }
  After(100);
  Finish();
  const FetchRecord fetch = *watch_.TakeEnded();
  ASSERT_EQ(fetch.streams.size(), 6u);
  for (size_t i = 0; i < ends.size(); ++i) EXPECT_EQ(fetch.streams[2 * i].end_us, ends[i]) << i;
  EXPECT_EQ(fetch.streams[3].end_us, ends[1]) << "of the worker's own move";
  EXPECT_EQ(fetch.streams[5].end_us, now_us_) << "another peer's";
}

TEST_F(ReadingWatchTest, SourcesThatWereLeft) {
  In(VerbAsked{FetchVerb{}});
  Assign(1);
  Assign(1, 2);  // the same again
  for (int times = 0; times < 2; ++times) {
    Out(SessionSend{protocol::SourceFailed{{}, 2, absl::UnavailableError("gone")}});
  }
  Assign(2, 3);
  Finish();
  const Tally tally = watch_.Take();
  EXPECT_EQ(tally.other_sources, 1u);
  EXPECT_EQ(tally.failed_sources, 1u) << "said again in the next session";
}

TEST_F(ReadingWatchTest, RemembersNoMoreThanItsBounds) {
  In(VerbAsked{FetchVerb{}});
  for (uint64_t i = 0; i < 2 * ReadingWatch::kStreamsMax; ++i) {
    Say(PeerKind::kOpen, 1, i);
    Out(Call{1, protocol::JoinFetch{}});
    Out(Call{2, protocol::BeginRead{}});
  }
  After(3);
  Finish();
  const FetchRecord fetch = *watch_.TakeEnded();
  EXPECT_EQ(fetch.streams.size(), ReadingWatch::kStreamsMax);
  EXPECT_EQ(fetch.spans.size(), ReadingWatch::kSpansMax);
  EXPECT_EQ(fetch.spans.back().end_us, now_us_);
}

TEST_F(ReadingWatchTest, OtherVerbsAreNoFetches) {
  In(VerbAsked{UnpublishVerb{}});
  Out(Call{1, protocol::Unpublish{}});
  After(10);
  Finish();
  EXPECT_EQ(watch_.Take(), Tally{});
  EXPECT_FALSE(watch_.TakeEnded());
}

}  // namespace
}  // namespace tensorhub::agent
