// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One reader that several sources feed at a time, in real processes. Workers say that they are on
// hosts of their own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "tests/integration/cluster.h"

namespace tensorhub::harness {
namespace {

constexpr char kShard[] = "tensors=40 bytes=536870912";
constexpr char kShardBytes[] = "536870912";

class SeveralSourcesTest : public testing::TestWithParam<Way> {
 protected:
  SeveralSourcesTest() : cluster_(GetParam(), {"--sources-per-reader", "3"}) {
    for (const std::string group : {"a", "b", "c"}) {
      holders_[group] = Join(group);
      group == "a" ? FillAndPublish(*holders_[group], 1)
                   : ExpectFetched(*holders_[group], holders_[group]->Do("fetch latest"), 1);
    }
  }
  Worker Join(const std::string& group) {
    Worker worker = cluster_.Start();
    std::string connect = cluster_.ConnectCommand(group);
    connect.replace(connect.rfind("h1"), 2, "host-of-" + group);
    EXPECT_EQ(worker->Do(connect), "ok");
    EXPECT_EQ(worker->Do("register " + std::string(kShard) + " " + GetParam().memory), "ok");
    return worker;
  }
  // Sources of the fetch that gave this answer.
  static void ExpectAll(const std::string& answer) {
    EXPECT_THAT(answer, testing::AllOf(HasSubstr("a/0"), HasSubstr("b/0"), HasSubstr("c/0")));
    EXPECT_EQ(Field(answer, "bytes"), kShardBytes) << "something was read twice";
  }

  Cluster cluster_;
  std::map<std::string, Worker> holders_;
};
INSTANTIATE_TEST_SUITE_P(Ways, SeveralSourcesTest, testing::Values(kTcp, kServed), WayName);

TEST_P(SeveralSourcesTest, AllOfThemBringIt) {
  Worker reader = Join("reader");
  const std::string answer = reader->Do("fetch latest");
  ExpectFetched(*reader, answer, 1);
  ExpectAll(answer);
  // It is a holder like any other.
  EXPECT_THAT(holders_["a"]->Do("unpublish"), StartsWith("ok"));
}

TEST_P(SeveralSourcesTest, TheOthersBringWhatALostOneDidNot) {
  Worker reader = Join("reader");
  auto slow =
      std::make_unique<Throttle>(reader->process().pid(), milliseconds(2), milliseconds(30));
  reader->Send("fetch latest timeout=60000");
  ASSERT_TRUE(reader->AwaitProgress(seconds(15))) << reader->process().Describe();
  holders_["b"]->process().Kill();
  slow.reset();
  const std::string answer = reader->Answer();
  ExpectFetched(*reader, answer, 1);
  ExpectAll(answer);
}

// R3: whoever wants its buffers back has them as soon as its stream has ended.
TEST_P(SeveralSourcesTest, OneOfThemUnpublishesMeanwhile) {
  Worker reader = Join("reader");
  auto slow =
      std::make_unique<Throttle>(reader->process().pid(), milliseconds(2), milliseconds(30));
  reader->Send("fetch latest timeout=60000");
  ASSERT_TRUE(reader->AwaitProgress(seconds(15))) << reader->process().Describe();
  EXPECT_THAT(holders_["c"]->Do("unpublish drain=60000"), StartsWith("ok"));
  EXPECT_EQ(holders_["c"]->Do("fill 9"), "ok");
  slow.reset();
  const std::string answer = reader->Answer();
  ExpectFetched(*reader, answer, 1);
  ExpectAll(answer);
}

}  // namespace
}  // namespace tensorhub::harness
