// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Groups: one version for all ranks or one error for all of them (R6).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/integration/cluster.h"

namespace tensorhub::harness {
namespace {

TEST(GroupTest, AllRanksGetOneVersionWhileNewOnesAppear) {
  Cluster cluster;
  const std::vector<Worker> readers = cluster.JoinGroup("rollout", 2);
  // Two trainers take turns, so that a version is held while the next one appears.
  const std::vector<Worker> one = cluster.JoinGroup("trainer-1", 2);
  const std::vector<Worker> two = cluster.JoinGroup("trainer-2", 2);
  for (const Worker& trainer : one) FillAndPublish(*trainer, 1);
  for (uint64_t version = 2; version <= 9; ++version) {
    const std::vector<Worker>& trainers = version % 2 == 0 ? two : one;
    readers[0]->Send("fetch latest");
    for (const Worker& trainer : trainers) {
      ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
      FillAndPublish(*trainer, version);
    }
    readers[1]->Send("fetch latest");
    std::set<std::string> versions;
    for (const Worker& reader : readers) {
      const std::string answer = reader->Answer();
      ASSERT_THAT(answer, StartsWith("ok"));
      versions.insert(Field(answer, "version"));
    }
    ASSERT_EQ(versions.size(), 1u) << *versions.begin() << " and " << *versions.rbegin();
    for (const Worker& reader : readers) EXPECT_EQ(reader->Do("check " + *versions.begin()), "ok");
  }
}

TEST(GroupTest, SelectorsMustAgree) {
  Cluster cluster;
  const std::vector<Worker> trainers = cluster.JoinGroup("trainer", 2);
  for (const Worker& trainer : trainers) FillAndPublish(*trainer, 1);
  const std::vector<Worker> readers = cluster.JoinGroup("rollout", 2);
  readers[0]->Send("fetch latest timeout=10000");
  readers[1]->Send("fetch exact=1 timeout=10000");
  for (const Worker& reader : readers) {
    EXPECT_THAT(reader->Answer(), StartsWith("error INVALID_ARGUMENT"));
  }
  const std::vector<std::string> answers = DoAll(readers, "fetch latest");
  for (size_t rank = 0; rank < 2; ++rank) ExpectFetched(*readers[rank], answers[rank], 1);
}

TEST(GroupTest, AMissingRankEndsTheFetchAtItsDeadline) {
  Cluster cluster;
  const std::vector<Worker> trainers = cluster.JoinGroup("trainer", 2);
  for (const Worker& trainer : trainers) FillAndPublish(*trainer, 1);
  const std::vector<Worker> readers = cluster.JoinGroup("rollout", 2);
  EXPECT_THAT(readers[0]->Do("fetch latest timeout=700"), StartsWith("error DEADLINE_EXCEEDED"));
  const std::vector<std::string> answers = DoAll(readers, "fetch latest");
  for (size_t rank = 0; rank < 2; ++rank) ExpectFetched(*readers[rank], answers[rank], 1);
}

TEST(GroupTest, AKilledRankFailsTheOthers) {
  Cluster cluster(kTcp);
  const std::string shard = "tensors=16 bytes=134217728";
  const std::vector<Worker> trainers = cluster.JoinGroup("trainer", 2, shard);
  for (const Worker& trainer : trainers) FillAndPublish(*trainer, 1);
  std::vector<Worker> readers = cluster.JoinGroup("rollout", 2, shard);
  {
    const Throttle slow(readers[1]->process().pid(), milliseconds(2), milliseconds(30));
    for (const Worker& reader : readers) reader->Send("fetch latest");
    ASSERT_TRUE(readers[1]->AwaitProgress());
  }
  readers[1]->process().Kill();
  EXPECT_THAT(readers[0]->Answer(seconds(20)), StartsWith("error ABORTED"));
  // A successor takes the rank, and the group fetches as a whole.
  readers[1] = cluster.Start();
  ASSERT_EQ(readers[1]->Do(cluster.ConnectCommand("rollout", 1, 2) + " timeout=20000"), "ok");
  ASSERT_EQ(readers[1]->Do("register " + shard), "ok");
  const std::vector<std::string> answers = DoAll(readers, "fetch latest");
  for (size_t rank = 0; rank < 2; ++rank) ExpectFetched(*readers[rank], answers[rank], 1);
}

}  // namespace
}  // namespace tensorhub::harness
