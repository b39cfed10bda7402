// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The server goes and comes back (R8): transfers under way go on, and nothing published is
// forgotten while a holder lives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stop_token>
#include <thread>

#include "tests/integration/cluster.h"

namespace tensorhub::harness {
namespace {

TEST(RestartTest, BetweenPublishAndFetch) {
  Cluster cluster(kTcp);
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 7);
  Worker reader = cluster.Join("reader");
  cluster.server().Restart();
  ExpectFetched(*reader, reader->Do("fetch latest"), 7);
  EXPECT_THAT(reader->Do("list"), HasSubstr("7:visible"));
  // The trainer's own calls go through the new server.
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  FillAndPublish(*trainer, 8);
  ExpectFetched(*reader, reader->Do("fetch latest"), 8);
}

TEST(RestartTest, WhileAFetchRuns) {
  for (const Way& way : {kTcp, kOneSided}) {
    Cluster cluster(way);
    const std::string shard = "tensors=40 bytes=536870912";
    Worker trainer = cluster.Join("trainer", shard);
    FillAndPublish(*trainer, 1);
    Worker reader = cluster.Join("reader", shard);
    {
      const Throttle slow(reader->process().pid(), milliseconds(2), milliseconds(30));
      reader->Send("fetch latest");
      ASSERT_TRUE(reader->AwaitProgress()) << reader->process().Describe();
      cluster.server().Restart();
    }
    const std::string answer = reader->Answer();
    ExpectFetched(*reader, answer, 1);
    EXPECT_EQ(Field(answer, "bytes"), "536870912") << "something was read twice";
  }
}

TEST(RestartTest, CallsRideOutAnAbsence) {
  Cluster cluster;
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 1);
  Worker reader = cluster.Join("reader");
  cluster.server().Kill();
  EXPECT_THAT(reader->Do("fetch latest timeout=500"), StartsWith("error "));
  reader->Send("fetch latest timeout=30000");
  cluster.server().Restart();
  ExpectFetched(*reader, reader->Answer(), 1);
}

// The lease is five seconds: no life of the server lasts as long. Each recovery ends when those who
// were there before are back.
TEST(RestartTest, FetchesGetThroughAStormOfRestarts) {
  Cluster cluster;
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 1);
  Worker reader = cluster.Join("reader");
  std::atomic<int> restarts = 0;
  const std::jthread storm([&](const std::stop_token& over) {
    for (; !over.stop_requested() && restarts < 12; ++restarts) {
      cluster.server().Restart();
      Eventually(seconds(2), [&] { return over.stop_requested(); });
    }
  });
  EXPECT_TRUE(Eventually(seconds(20), [&] { return restarts > 0; }));
  ExpectFetched(*reader, reader->Do("fetch latest timeout=30000"), 1);
  ASSERT_THAT(trainer->Do("unpublish drain=2000"), StartsWith("ok"));
  FillAndPublish(*trainer, 2);
  ExpectFetched(*reader, reader->Do("fetch newer=1 timeout=30000"), 2);
  EXPECT_LT(restarts.load(), 12) << "nothing got through before the server stayed";
}

TEST(RestartTest, UnpublishNeedsNoServer) {
  Cluster cluster;
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 1);
  cluster.server().Kill();
  const std::string unpublished = trainer->Do("unpublish drain=500");
  ASSERT_THAT(unpublished, StartsWith("ok"));
  // As ros.h promises, with slack; without the option it would be ten seconds more.
  EXPECT_LT(std::stoi(Field(unpublished, "ms")), 500 + 2000 + 3000);
}

// R1: a trainer that crashed in the middle of a run, and comes back from its checkpoint with a step
// that is not what it was, while a rollout holds that one.
TEST(RestartTest, OfATrainerWithOtherBytes) {
  for (const bool server_too : {false, true}) {
    Cluster cluster;
    Worker reader = cluster.Join("reader");
    std::string receipt;
    {
      Worker trainer = cluster.Join("trainer");
      FillAndPublish(*trainer, 50);
      const std::string fetched = reader->Do("fetch latest");
      ExpectFetched(*reader, fetched, 50);
      receipt = Field(fetched, "identity");
      EXPECT_EQ(receipt.size(), 32u);
      trainer->process().Kill();
    }
    if (server_too) cluster.server().Restart();
    Worker trainer = cluster.Join("trainer");
    ASSERT_EQ(trainer->Do("fill 51"), "ok");
    EXPECT_THAT(trainer->Do("publish 50"),
                testing::AllOf(StartsWith("error ALREADY_EXISTS"), HasSubstr("shard 0 differs"),
                               HasSubstr("the first chunk that differs: 0 of ")));
    // The same bytes once more are welcome, and serve.
    ASSERT_EQ(trainer->Do("fill 50"), "ok");
    EXPECT_THAT(trainer->Do("publish 50"), StartsWith("ok"));
    reader->process().Kill();
    Worker other = cluster.Join("other");
    const std::string fetched = other->Do("fetch latest");
    ExpectFetched(*other, fetched, 50);
    EXPECT_EQ(Field(fetched, "identity"), receipt);
  }
}

// R2: a trainer that was killed goes back, and publishes a step once more with other bytes, though
// rollouts hold it. They follow, be the server restarted meanwhile or not.
TEST(RestartTest, RolloutsFollowATrainerThatSupersedes) {
  for (const bool server_too : {false, true}) {
    Cluster cluster(kServed, {"--lease", "1500ms"});
    Worker reader = cluster.Join("reader");
    {
      Worker trainer = cluster.Join("trainer");
      FillAndPublish(*trainer, 50);
      ExpectFetched(*reader, reader->Do("fetch latest"), 50);
      trainer->process().Kill();
    }
    Worker trainer = cluster.Join("trainer");
    ASSERT_EQ(trainer->Do("fill 49"), "ok");
    ASSERT_THAT(trainer->Do("publish 49 supersede=1"), StartsWith("ok"));
    EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
      return reader->Do("health").find("superseded") != std::string::npos;
    })) << reader->Do("health");
    if (server_too) cluster.server().Restart();
    ExpectFetched(*reader, reader->Do("fetch newer=50"), 49);
    EXPECT_EQ(reader->Do("health"), "ok");
    // The new term takes the old numbers.
    ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
    FillAndPublish(*trainer, 50);
    ExpectFetched(*reader, reader->Do("fetch newer=49"), 50);
  }
}

TEST(RestartTest, LatestDoesNotGoBackwards) {
  Cluster cluster;
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 5);
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  Worker other = cluster.Join("other");
  ASSERT_EQ(other->Do("fill 4"), "ok");
  EXPECT_THAT(other->Do("fetch latest"),
              testing::AllOf(StartsWith("error NOT_FOUND"), HasSubstr("5")));
  EXPECT_THAT(other->Do("publish 4"),
              testing::AllOf(StartsWith("error FAILED_PRECONDITION"), HasSubstr("supersede")));
  // On purpose it may.
  EXPECT_THAT(other->Do("publish 4 supersede=1"), StartsWith("ok"));
  Worker reader = cluster.Join("reader");
  ExpectFetched(*reader, reader->Do("fetch latest"), 4);
}

}  // namespace
}  // namespace tensorhub::harness
