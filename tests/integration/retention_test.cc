// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: an orderly end does not lose a version that is wanted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/integration/cluster.h"
#include "tests/integration/harness/eventually.h"

namespace tensorhub::harness {
namespace {

using testing::Not;

const std::vector<std::string> kKeepOne = {"--keep-latest", "1"};

TEST(RetentionTest, TheLastHolderLeavesACopyInHostMemory) {
  for (const Way& way : AllWays()) {
    Cluster cluster(way, kKeepOne);
    Worker trainer = cluster.Join("trainer");
    FillAndPublish(*trainer, 1);
    ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
    ASSERT_EQ(trainer->Do("fill 2"), "ok");
    Worker reader = cluster.Join("reader");
    const std::string answer = reader->Do("fetch latest");
    ExpectFetched(*reader, answer, 1);
    EXPECT_THAT(answer, HasSubstr("sources=trainer.copy.1/0")) << way.name;
  }
}

TEST(RetentionTest, ACopyThatNobodyWantsIsReleased) {
  Cluster cluster(kServed, kKeepOne);
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 1);
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  EXPECT_THAT(trainer->Do("list"), HasSubstr("trainer.copy.1"));
  FillAndPublish(*trainer, 2);
  EXPECT_TRUE(Eventually(seconds(20), [&] {
    return trainer->Do("list").find("trainer.copy.1") == std::string::npos;
  }));
  // And its memory serves for the next one.
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  EXPECT_THAT(trainer->Do("list"), HasSubstr("trainer.copy.2"));
}

TEST(RetentionTest, AGroupsCopyIsMadeByAllItsRanks) {
  Cluster cluster(kServed, kKeepOne);
  const std::vector<Worker> trainers = cluster.JoinGroup("trainer", 2);
  for (const std::string& answer : DoAll(trainers, "fill 1")) ASSERT_EQ(answer, "ok");
  for (const std::string& answer : DoAll(trainers, "publish 1 wait=1")) {
    ASSERT_THAT(answer, StartsWith("ok"));
  }
  // One rank is enough to have both copied.
  ASSERT_THAT(trainers[0]->Do("unpublish"), StartsWith("ok"));
  ASSERT_EQ(trainers[0]->Do("fill 2"), "ok");
  const std::vector<Worker> readers = cluster.JoinGroup("reader", 2);
  for (size_t rank = 0; rank < readers.size(); ++rank) readers[rank]->Send("fetch latest");
  for (const Worker& reader : readers) ExpectFetched(*reader, reader->Answer(), 1);
}

TEST(RetentionTest, WithoutMemoryForACopyNothingIsGivenUp) {
  Cluster cluster(kServed, kKeepOne);
  Worker trainer = cluster.Start();
  ASSERT_EQ(trainer->Do(cluster.ConnectCommand("trainer") + " copies=0"), "ok");
  ASSERT_EQ(trainer->Do("register"), "ok");
  FillAndPublish(*trainer, 1);
  EXPECT_THAT(trainer->Do("unpublish"), testing::AllOf(StartsWith("error RESOURCE_EXHAUSTED"),
                                                       HasSubstr("version 1"), HasSubstr("force")));
  Worker spot = cluster.Join("reader");
  ExpectFetched(*spot, spot->Do("fetch latest"), 1);
  // Now there is another keeper.
  EXPECT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
}

TEST(RetentionTest, ForceGivesUpTheLastCopy) {
  Cluster cluster(kServed, kKeepOne);
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 1);
  ASSERT_THAT(trainer->Do("unpublish force"), StartsWith("ok"));
  EXPECT_THAT(trainer->Do("fetch latest"), StartsWith("error NOT_FOUND"));
}

TEST(RetentionTest, AFetchLeavesACopyOfWhatItReplaces) {
  Cluster cluster(kServed, {"--keep-latest", "2"});
  Worker old = cluster.Join("old");
  FillAndPublish(*old, 1);
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 2);
  ExpectFetched(*old, old->Do("fetch latest"), 2);
  Worker reader = cluster.Join("reader");
  ExpectFetched(*reader, reader->Do("fetch exact=1"), 1);
}

TEST(RetentionTest, WhoLeavesIsCopiedByAnother) {
  Cluster cluster(kServed, kKeepOne);
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 1);
  Worker other = cluster.Join("other");
  ASSERT_EQ(trainer->Do("leave"), "ok");
  const std::string answer = other->Do("fetch latest");
  ExpectFetched(*other, answer, 1);
  EXPECT_THAT(answer, HasSubstr("sources=other.copy.1/0"));
}

// Each copy is a client of its own, which reads from the worker in the same process and goes.
TEST(RetentionTest, CopiesThatAreGoneLeaveNothingBehind) {
  Cluster cluster(kServed, kKeepOne);
  Worker trainer = cluster.Join("trainer");
  const auto segments = [&] {
    std::ifstream file("/proc/" + std::to_string(trainer->process().pid()) + "/maps");
    int count = 0;
    for (std::string line; std::getline(file, line);) {
      count +=
          line.find("/SYSV") != std::string::npos || line.find("/dev/shm") != std::string::npos;
    }
    return count;
  };
  int before = 0;
  for (uint64_t version = 1; version <= 40; ++version) {
    FillAndPublish(*trainer, version);
    ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
    if (version == 10) before = segments();
  }
  EXPECT_GT(before, 0);
  // Two a copy, where they stay.
  EXPECT_LE(segments(), before + 20);
}

TEST(RetentionTest, ACopyOfWhichARankWasLostIsMadeWholeAgain) {
  Cluster cluster(kServed, kKeepOne);
  std::vector<Worker> trainers = cluster.JoinGroup("trainer", 2);
  for (const std::string& answer : DoAll(trainers, "fill 1")) ASSERT_EQ(answer, "ok");
  for (const std::string& answer : DoAll(trainers, "publish 1 wait=1")) {
    ASSERT_THAT(answer, StartsWith("ok"));
  }
  for (const std::string& answer : DoAll(trainers, "unpublish")) {
    ASSERT_THAT(answer, StartsWith("ok"));
  }
  std::vector<Worker> spots;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    spots.push_back(cluster.Start());
    ASSERT_EQ(spots[rank]->Do(cluster.ConnectCommand("spot", rank, 2) + " spot"), "ok");
    ASSERT_EQ(spots[rank]->Do("register"), "ok");
  }
  for (const std::string& answer : DoAll(spots, "fetch latest")) {
    ASSERT_THAT(answer, StartsWith("ok"));
  }
  const auto whole_copy = [&] {
    return trainers[0]->Do("list").find("trainer.copy.1=complete/2/2") != std::string::npos;
  };
  ASSERT_TRUE(whole_copy()) << trainers[0]->Do("list");
  trainers[1] = nullptr;  // and its part of the copy with it
  ASSERT_TRUE(Eventually(seconds(20), [&] { return !whole_copy(); }));
  trainers[1] = cluster.Join("trainer", "", 1, 2);
  for (const std::string& answer : DoAll(spots, "leave")) ASSERT_EQ(answer, "ok");
  for (const Worker& trainer : trainers) trainer->Send("fetch latest");
  for (const Worker& trainer : trainers) ExpectFetched(*trainer, trainer->Answer(), 1);
}

// host_copy_bytes: none fits, or one of two.
TEST(RetentionTest, HostCopiesHaveABudget) {
  Cluster cluster(kServed, {"--keep-latest", "2"});
  const auto join = [&](const std::string& group, const std::string& budget) {
    Worker worker = cluster.Start();
    EXPECT_EQ(worker->Do(cluster.ConnectCommand(group) + " copies=" + budget), "ok");
    EXPECT_EQ(worker->Do("register"), "ok");
    return worker;
  };
  const auto refused = testing::AllOf(StartsWith("error RESOURCE_EXHAUSTED"), HasSubstr("copies"));
  Worker poor = join("poor", "1000");
  FillAndPublish(*poor, 1);
  EXPECT_THAT(poor->Do("unpublish"), refused);
  EXPECT_THAT(poor->Do("unpublish force"), StartsWith("ok"));
  Worker trainer = join("trainer", "1500000");  // a shard has a MiB
  FillAndPublish(*trainer, 2);
  EXPECT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  FillAndPublish(*trainer, 3);
  EXPECT_THAT(trainer->Do("unpublish"), refused);
}

TEST(RetentionTest, LeavingTakesTheCopiesAlong) {
  Cluster cluster(kServed, kKeepOne);
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 1);
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  Worker other = cluster.Join("other");
  EXPECT_THAT(other->Do("list"), HasSubstr("1:visible"));
  ASSERT_EQ(trainer->Do("leave"), "ok");
  EXPECT_THAT(other->Do("list"), Not(HasSubstr("trainer.copy")));
}

}  // namespace
}  // namespace tensorhub::harness
