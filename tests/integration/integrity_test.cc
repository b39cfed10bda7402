// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Memory that changes while it is published: whoever checks digests never takes the damaged bytes,
// and the holder gives itself up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/integration/cluster.h"
#include "tests/integration/harness/eventually.h"

namespace tensorhub::harness {
namespace {

constexpr char kShard[] = "tensors=20 bytes=67108864 layout=shuffled";

Way Checking(Way way) {
  way.env["TENSORHUB_DIGESTS"] = "on";
  return way;
}

class IntegrityTest : public testing::TestWithParam<Way> {
 protected:
  // On a host of its own: only what comes from another host is checked by default.
  Worker JoinAt(const std::string& host, const std::string& group) const {
    Worker worker = cluster_.Start();
    EXPECT_EQ(worker->Do(cluster_.ConnectCommand(group) + " location=us/dc1/r1/" + host), "ok");
    EXPECT_EQ(worker->Do("register " + std::string(kShard) + " " + GetParam().memory), "ok");
    return worker;
  }
  // Whoever has fetched has every digest that the trainer made.
  void PublishDamaged(WorkerProcess& trainer, WorkerProcess& holder) const {
    FillAndPublish(trainer, 1);
    ExpectFetched(holder, holder.Do("fetch latest"), 1);
    ASSERT_EQ(trainer.Do("damage"), "ok");
  }
  static void ExpectGivenUp(WorkerProcess& holder) {
    std::string health;
    EXPECT_TRUE(Eventually(seconds(10), [&] {
      health = holder.Do("health");
      return health.starts_with("error DATA_LOSS");
    })) << health;
  }

  Cluster cluster_{GetParam()};
};

TEST_P(IntegrityTest, DamagedBytesAreReadElsewhere) {
  Worker trainer = JoinAt("h1", "trainer");
  Worker other = JoinAt("h2", "z");
  PublishDamaged(*trainer, *other);
  Worker reader = JoinAt("h1", "reader");  // nearest: the trainer
  const std::string answer = reader->Do("fetch latest");
  ExpectFetched(*reader, answer, 1);
  EXPECT_EQ(Field(answer, "sources"), "trainer/0,");
  EXPECT_THAT(answer, HasSubstr("z/0"));
  EXPECT_EQ(Field(answer, "bytes"), "67108864") << "nothing valid was read twice";
  ExpectGivenUp(*trainer);
  // Its owner publishes anew, and all is well again.
  FillAndPublish(*trainer, 2);
  EXPECT_EQ(trainer->Do("health"), "ok");
  ExpectFetched(*reader, reader->Do("fetch latest"), 2);
}

TEST_P(IntegrityTest, TheOnlyCopyDamagedIsNotTaken) {
  Worker trainer = JoinAt("h1", "trainer");
  Worker other = JoinAt("h2", "z");
  PublishDamaged(*trainer, *other);
  ASSERT_THAT(other->Do("unpublish"), StartsWith("ok"));
  Worker reader = JoinAt("h3", "reader");
  EXPECT_THAT(reader->Do("fetch latest"), StartsWith("error DATA_LOSS"));
  ExpectGivenUp(*trainer);
  EXPECT_THAT(reader->Do("fetch latest"), StartsWith("error NOT_FOUND"));
}

// What is in place is hashed again before it is believed.
TEST_P(IntegrityTest, WhatDidNotChangeIsNotReadAgain) {
  Worker trainer = JoinAt("h1", "trainer");
  Worker reader = JoinAt("h2", "reader");
  FillAndPublish(*trainer, 1);
  ExpectFetched(*reader, reader->Do("fetch latest"), 1);
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  ASSERT_THAT(trainer->Do("publish 2"), StartsWith("ok"));
  std::string answer = reader->Do("fetch latest");
  EXPECT_THAT(answer, StartsWith("ok version=2 bytes=0 skipped=67108864 ")) << answer;
  EXPECT_EQ(reader->Do("check 1"), "ok");
  // One chunk of the reader's went bad meanwhile.
  ASSERT_THAT(reader->Do("unpublish"), StartsWith("ok"));
  ASSERT_EQ(reader->Do("damage"), "ok");
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  ASSERT_THAT(trainer->Do("publish 3"), StartsWith("ok"));
  answer = reader->Do("fetch latest");
  EXPECT_EQ(reader->Do("check 1"), "ok") << answer;
  EXPECT_EQ(Field(answer, "bytes"), "4194304") << "the span with that chunk";
}

INSTANTIATE_TEST_SUITE_P(Ways, IntegrityTest,
                         testing::Values(Checking(kTcp), Checking(kServed), Checking(kOneSided)),
                         WayName);

using DefaultTest = IntegrityTest;

TEST_P(DefaultTest, WhatComesFromAnotherHostIsChecked) {
  Worker trainer = JoinAt("h1", "trainer");
  Worker other = JoinAt("h2", "z");
  PublishDamaged(*trainer, *other);
  ASSERT_THAT(other->Do("unpublish"), StartsWith("ok"));
  Worker reader = JoinAt("h3", "reader");
  EXPECT_THAT(reader->Do("fetch latest"), StartsWith("error DATA_LOSS"));
}

// A reader on the trainer's host takes the bytes as they are, and passes the trainer's digests on.
TEST_P(DefaultTest, WhatPassesThroughANeighbourIsCheckedBehindIt) {
  Worker trainer = JoinAt("h1", "trainer");
  Worker neighbour = JoinAt("h1", "neighbour");
  PublishDamaged(*trainer, *neighbour);
  ASSERT_EQ(neighbour->Do("damage"), "ok");
  Worker far = JoinAt("h2", "far");
  EXPECT_THAT(far->Do("fetch latest"), StartsWith("error DATA_LOSS"));
  ExpectGivenUp(*trainer);
  ExpectGivenUp(*neighbour);
}

INSTANTIATE_TEST_SUITE_P(Ways, DefaultTest, testing::Values(kServed), WayName);

}  // namespace
}  // namespace tensorhub::harness
