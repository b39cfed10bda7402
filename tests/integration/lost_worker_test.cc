// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Workers that die or stop in the middle of a transfer. Readers are slowed down so that there is a
// middle.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <memory>
#include <string>

#include "tests/integration/cluster.h"

namespace tensorhub::harness {
namespace {

using testing::AnyOf;

// Large enough that a reader at the speed of memory is still seen on the way.
constexpr char kShard[] = "tensors=40 bytes=536870912";
constexpr char kShardBytes[] = "536870912";
// Beyond the drain time, which is ten seconds where none is given: what ros.h promises, and slack.
constexpr int kUnpublishMs = 2000 + 3000;

// Starts a fetch and returns in its middle; the reader stays slow while the Throttle lives.
std::unique_ptr<Throttle> BeginFetch(WorkerProcess& reader) {
  auto slow = std::make_unique<Throttle>(reader.process().pid(), milliseconds(2), milliseconds(30));
  reader.Send("fetch latest timeout=60000");
  EXPECT_TRUE(reader.AwaitProgress(seconds(15))) << reader.process().Describe();
  return slow;
}

// For want of sources, and not because its own deadline passed.
void ExpectUnserved(const std::string& answer) {
  EXPECT_THAT(answer, AnyOf(StartsWith("error UNAVAILABLE"), StartsWith("error NOT_FOUND")));
}

class LostWorkerTest : public testing::TestWithParam<Way> {
 protected:
  Cluster cluster_{GetParam()};
};

TEST_P(LostWorkerTest, AKilledReaderTroublesNobody) {
  Worker trainer = cluster_.Join("trainer", kShard);
  FillAndPublish(*trainer, 1);
  Worker victim = cluster_.Join("victim", kShard);
  Worker other = cluster_.Join("other", kShard);
  auto slow = BeginFetch(*victim);
  other->Send("fetch latest");
  victim->process().Kill();
  slow.reset();
  ExpectFetched(*other, other->Answer(), 1);
  // The dead reader's lease ends it, long before the drain time would.
  EXPECT_THAT(trainer->Do("unpublish drain=600000"), StartsWith("ok"));
}

TEST_P(LostWorkerTest, AKilledSourceIsReplacedByAnother) {
  std::map<std::string, Worker> holders;
  holders["a"] = cluster_.Join("a", kShard);
  FillAndPublish(*holders["a"], 1);
  holders["b"] = cluster_.Join("b", kShard);
  ExpectFetched(*holders["b"], holders["b"]->Do("fetch latest"), 1);
  Worker reader = cluster_.Join("reader", kShard);
  auto slow = BeginFetch(*reader);
  const std::string source = reader->PresentSource();
  ASSERT_TRUE(source == "a/0" || source == "b/0") << source;
  holders[source.substr(0, 1)]->process().Kill();
  slow.reset();
  const std::string answer = reader->Answer();
  ExpectFetched(*reader, answer, 1);
  // The memory of a dead process can be read to its end; its word still shows the generation (R4).
  if (GetParam().name != kOneSided.name) {
    EXPECT_THAT(answer, testing::AllOf(HasSubstr("a/0"), HasSubstr("b/0")));
  }
  EXPECT_EQ(Field(answer, "bytes"), kShardBytes) << "something was read twice";
}

TEST_P(LostWorkerTest, TheLastSourceKilledFailsTheFetchAtOnce) {
  Worker trainer = cluster_.Join("trainer", kShard);
  FillAndPublish(*trainer, 1);
  Worker reader = cluster_.Join("reader", kShard);
  auto slow = BeginFetch(*reader);
  trainer->process().Kill();
  slow.reset();
  if (GetParam().name == kOneSided.name) {
    // Its memory outlives it: the fetch ends whole and right, or fails; never torn.
    const std::string answer = reader->Answer();
    answer.starts_with("ok") ? ExpectFetched(*reader, answer, 1) : ExpectUnserved(answer);
  } else {
    ExpectUnserved(reader->Answer());
  }
  // The reader is sound: it takes the next version.
  Worker successor = cluster_.Start();
  ASSERT_EQ(successor->Do(cluster_.ConnectCommand("trainer") + " timeout=20000"), "ok");
  ASSERT_EQ(successor->Do("register " + std::string(kShard) + " " + GetParam().memory), "ok");
  FillAndPublish(*successor, 2);
  ExpectFetched(*reader, reader->Do("fetch latest"), 2);
}

TEST_P(LostWorkerTest, AStoppedSourceIsReplacedByAnother) {
  std::map<std::string, Worker> holders;
  holders["a"] = cluster_.Join("a", kShard);
  FillAndPublish(*holders["a"], 1);
  holders["b"] = cluster_.Join("b", kShard);
  ExpectFetched(*holders["b"], holders["b"]->Do("fetch latest"), 1);
  Worker reader = cluster_.Join("reader", kShard);
  auto slow = BeginFetch(*reader);
  const std::string source = reader->PresentSource();
  ASSERT_TRUE(source == "a/0" || source == "b/0") << source;
  Worker& stopped = holders[source.substr(0, 1)];
  stopped->process().Signal(SIGSTOP);
  slow.reset();
  ExpectFetched(*reader, reader->Answer(), 1);
  // Awake again, it still works: what it held is known again, or it fetches it.
  stopped->process().Signal(SIGCONT);
  EXPECT_TRUE(Eventually(seconds(20), [&] {
    return stopped->Do("fetch latest timeout=5000").rfind("ok", 0) == 0;
  })) << stopped->process().Describe();
  EXPECT_EQ(stopped->Do("check 1"), "ok");
}

TEST_P(LostWorkerTest, AStoppedTrainerComesBack) {
  Worker trainer = cluster_.Join("trainer");
  FillAndPublish(*trainer, 1);
  Worker reader = cluster_.Join("reader");
  trainer->process().Signal(SIGSTOP);
  // Served, the fetch waits for a source that does not answer until its time is over; one-sided it
  // needs no answer. Whole or not at all.
  const std::string answer = reader->Do("fetch latest timeout=6000");
  if (answer.rfind("ok", 0) == 0) {
    EXPECT_EQ(reader->Do("check 1"), "ok");
  }
  trainer->process().Signal(SIGCONT);
  EXPECT_TRUE(Eventually(seconds(20), [&] {
    return reader->Do("fetch latest timeout=5000").rfind("ok", 0) == 0;
  })) << reader->process().Describe();
  EXPECT_EQ(reader->Do("check 1"), "ok");
}

// R3: bounded, with a reader that still needs the bytes; and R4: that reader is not fooled.
TEST_P(LostWorkerTest, UnpublishDoesNotWaitLongerThanItsDrainTime) {
  Worker trainer = cluster_.Join("trainer", kShard);
  FillAndPublish(*trainer, 1);
  Worker reader = cluster_.Join("reader", kShard);
  auto slow = BeginFetch(*reader);
  const std::string unpublished = trainer->Do("unpublish drain=300");
  ASSERT_THAT(unpublished, StartsWith("ok"));
  EXPECT_LT(std::stoi(Field(unpublished, "ms")), 300 + kUnpublishMs);
  ASSERT_EQ(trainer->Do("fill 2"), "ok");
  slow.reset();
  const std::string answer = reader->Answer();
  if (answer.rfind("ok", 0) == 0) {
    EXPECT_EQ(reader->Do("check 1"), "ok");
  }
}

// Killed in the middle of a message through shared memory, a source leaves its reader with a queue
// out of which nothing comes any more, from nobody. The reader finds out, and connects anew.
TEST(LostSourceTest, OneThatDiesSendingLeavesNobodyDeaf) {
  Way way = kServed;
  way.env["TENSORHUB_DIGESTS"] = "off";  // it is not to die hashing
  const Cluster cluster(way);
  Worker trainer = cluster.Join("trainer");
  Worker reader = cluster.Join("reader");
  FillAndPublish(*trainer, 1);
  ASSERT_EQ(trainer->Do("forbid"), "ok");
  ExpectUnserved(reader->Do("fetch latest timeout=10000"));
  Worker successor = cluster.Start();
  ASSERT_EQ(successor->Do(cluster.ConnectCommand("trainer") + " timeout=20000"), "ok");
  ASSERT_EQ(successor->Do("register"), "ok");
  FillAndPublish(*successor, 2);
  ExpectFetched(*reader, reader->Do("fetch latest timeout=20000"), 2);
  EXPECT_THAT(reader->process().Describe(), HasSubstr("connecting anew"));
  // As a source it is heard, too.
  ASSERT_THAT(successor->Do("unpublish"), StartsWith("ok"));
  Worker last = cluster.Join("last");
  ExpectFetched(*last, last->Do("fetch latest timeout=20000"), 2);
}

INSTANTIATE_TEST_SUITE_P(Ways, LostWorkerTest, testing::Values(kTcp, kOneSided), WayName);

}  // namespace
}  // namespace tensorhub::harness
