// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The whole path: a trainer publishes, others fetch, over each way that bytes travel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "tests/integration/cluster.h"

namespace tensorhub::harness {
namespace {

class WholePathTest : public testing::TestWithParam<Way> {
 protected:
  Cluster cluster_{GetParam()};
};

TEST_P(WholePathTest, AReaderGetsTheBytesAndServesThemOn) {
  const std::string shard = "tensors=300 bytes=33554437 empty=2";
  Worker trainer = cluster_.Join("trainer", shard);
  FillAndPublish(*trainer, 1);
  Worker reader = cluster_.Join("rollout-a", shard);
  const std::string first = reader->Do("fetch latest");
  ExpectFetched(*reader, first, 1);
  EXPECT_EQ(Field(first, "bytes"), "33554437");
  EXPECT_THAT(Field(first, "way"), HasSubstr(GetParam().reported));
  EXPECT_EQ(Field(first, "sources"), "trainer/0");

  // The trainer goes; the version lives on in its reader.
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  Worker second = cluster_.Join("rollout-b", shard);
  const std::string onward = second->Do("fetch exact=1");
  ExpectFetched(*second, onward, 1);
  EXPECT_EQ(Field(onward, "sources"), "rollout-a/0");
}

TEST_P(WholePathTest, FiveVersionsInPlace) {
  const std::string shard = "tensors=20 bytes=4000000 dtype=BF16";
  Worker trainer = cluster_.Join("trainer", shard);
  Worker reader = cluster_.Join("rollout", shard);
  for (uint64_t version = 1; version <= 5; ++version) {
    FillAndPublish(*trainer, version);
    ExpectFetched(*reader, reader->Do("fetch newer=" + std::to_string(version - 1)), version);
    ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  }
  // What is held already is not read again.
  EXPECT_EQ(Field(reader->Do("fetch latest"), "bytes"), "0");
}

TEST_P(WholePathTest, MemoryMayLieDifferentlyOnEachSide) {
  const std::string same = "tensors=100 bytes=5000001 seed=7 ";
  Worker trainer = cluster_.Join("trainer", same + "layout=arena");
  FillAndPublish(*trainer, 3);
  for (const std::string place : {"layout=malloc", "layout=shuffled", "unaligned=1"}) {
    Worker reader = cluster_.Join("rollout-" + place.substr(place.size() - 4), same + place);
    ExpectFetched(*reader, reader->Do("fetch latest"), 3);
  }
}

TEST_P(WholePathTest, ManySmallTensors) {
  const std::string shard = "tensors=20000 bytes=8000000 layout=arena";
  Worker trainer = cluster_.Join("trainer", shard);
  FillAndPublish(*trainer, 1);
  Worker reader = cluster_.Join("rollout", shard);
  ExpectFetched(*reader, reader->Do("fetch latest"), 1);
}

TEST_P(WholePathTest, TwoRanksEach) {
  const std::vector<Worker> trainers = cluster_.JoinGroup("trainer", 2, "bytes=3000000");
  const std::vector<Worker> readers = cluster_.JoinGroup("rollout", 2, "bytes=3000000");
  for (const Worker& trainer : trainers) FillAndPublish(*trainer, 1);
  const std::vector<std::string> answers = DoAll(readers, "fetch latest");
  for (size_t rank = 0; rank < readers.size(); ++rank) {
    ExpectFetched(*readers[rank], answers[rank], 1);
    EXPECT_EQ(Field(answers[rank], "sources"), "trainer/" + std::to_string(rank));
  }
}

// Readers that arrive together: whoever has a prefix serves it.
TEST_P(WholePathTest, EightReadersAtOnce) {
  const std::string shard = "tensors=50 bytes=16000000";
  Worker trainer = cluster_.Join("trainer", shard);
  FillAndPublish(*trainer, 1);
  std::vector<Worker> readers;
  for (int i = 0; i < 8; ++i) readers.push_back(cluster_.Join("r" + std::to_string(i), shard));
  const std::vector<std::string> answers = DoAll(readers, "fetch latest");
  for (size_t i = 0; i < readers.size(); ++i) ExpectFetched(*readers[i], answers[i], 1);
  const bool onward = std::any_of(answers.begin(), answers.end(), [](const std::string& answer) {
    return Field(answer, "sources") != "trainer/0";
  });
  EXPECT_TRUE(onward) << "all were fed by the trainer";
}

// R4: a source withdraws in the middle of a fetch and overwrites its memory; the reader goes on at
// another one, and what it has is whole. (That a torn read would be found out needs a get at the
// very moment of the write: that is for the simulation to bring about.)
TEST_P(WholePathTest, NeverTornUnderAHurriedTrainer) {
  const std::string shard = "tensors=30 bytes=268435456";
  std::map<std::string, Worker> holders;
  for (const std::string name : {"a", "b"}) holders[name] = cluster_.Join(name, shard);
  Worker reader = cluster_.Join("rollout", shard);
  int moved = 0;
  for (uint64_t version = 1; version <= 8; ++version) {
    FillAndPublish(*holders["a"], version);
    ExpectFetched(*holders["b"], holders["b"]->Do("fetch latest"), version);
    auto slow =
        std::make_unique<Throttle>(reader->process().pid(), milliseconds(2), milliseconds(30));
    reader->Send("fetch latest");
    ASSERT_TRUE(reader->AwaitProgress(seconds(30))) << reader->process().Describe();
    const std::string source = reader->PresentSource();
    Worker& holder = holders[source.substr(0, 1)];
    ASSERT_NE(holder, nullptr) << source;
    ASSERT_THAT(holder->Do("unpublish drain=0"), StartsWith("ok"));
    ASSERT_EQ(holder->Do("fill " + std::to_string(version + 1000)), "ok");
    slow.reset();
    const std::string answer = reader->Answer();
    ExpectFetched(*reader, answer, version);
    if (Field(answer, "sources").find(',') != std::string::npos) ++moved;
    for (auto& [name, each] : holders) ASSERT_THAT(each->Do("unpublish"), StartsWith("ok"));
  }
  EXPECT_GT(moved, 0) << "no fetch was under way when its source withdrew";
}

INSTANTIATE_TEST_SUITE_P(Ways, WholePathTest, testing::ValuesIn(AllWays()), WayName);

TEST(VersionsTest, WaitListAndLeave) {
  Cluster cluster;
  Worker trainer = cluster.Join("trainer");
  Worker reader = cluster.Join("rollout");
  EXPECT_THAT(reader->Do("wait newer=0 timeout=100"), StartsWith("error DEADLINE_EXCEEDED"));
  reader->Send("wait newer=4");
  FillAndPublish(*trainer, 5);
  EXPECT_EQ(reader->Answer(), "ok version=5");
  EXPECT_THAT(reader->Do("list"), HasSubstr("5:visible:1048576:trainer=complete/1/1"));
  ExpectFetched(*reader, reader->Do("fetch exact=5"), 5);
  EXPECT_EQ(trainer->Do("leave"), "ok");
  EXPECT_EQ(trainer->Do("leave"), "ok");
  EXPECT_THAT(trainer->Do("publish 6"), StartsWith("error FAILED_PRECONDITION"));
  const std::string left = reader->Do("list");
  EXPECT_THAT(left, HasSubstr("rollout=complete/1/1"));
  EXPECT_THAT(left, testing::Not(HasSubstr("trainer")));
}

TEST(VersionsTest, PublishIsVisibleOnceTheGroupIsWhole) {
  Cluster cluster;
  const std::vector<Worker> trainers = cluster.JoinGroup("trainer", 2);
  Worker reader = cluster.Join("watcher");
  FillAndPublish(*trainers[0], 1);
  EXPECT_THAT(reader->Do("wait newer=0 timeout=200"), StartsWith("error DEADLINE_EXCEEDED"));
  const std::string answer = trainers[0]->Do("publish 1 wait=1 timeout=300");
  EXPECT_THAT(answer, StartsWith("error DEADLINE_EXCEEDED"));
  EXPECT_THAT(answer, EndsWith("not every rank of trainer published it in time; missing: rank 1"));
  trainers[0]->Send("publish 1 wait=1");
  EXPECT_THAT(trainers[0]->Answer(milliseconds(300)), StartsWith("silent"));
  FillAndPublish(*trainers[1], 1);
  EXPECT_THAT(trainers[0]->Answer(), StartsWith("ok"));
  EXPECT_EQ(reader->Do("wait newer=0 timeout=5000"), "ok version=1");
}

}  // namespace
}  // namespace tensorhub::harness
