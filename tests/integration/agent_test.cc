// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub-agent: a host that keeps what trainers and rollouts give up (R7).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/integration/cluster.h"
#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/places.h"
#include "tests/integration/harness/process.h"

namespace tensorhub::harness {
namespace {

class AgentTest : public testing::Test {
 protected:
  explicit AgentTest(const std::string& lease = "5s")
      : cluster_(kServed, {"--keep-latest", "1", "--lease", lease}) {}

  std::unique_ptr<Process> StartAgent() {
    return std::make_unique<Process>(
        Process::Options{.binary = BinaryPath("tensorhub-agent"),
                         .args = {"--server", cluster_.server().address(), "--model", "m/actor",
                                  "--group", "keeper", "--location", "us/dc1/r1/h1"}});
  }
  // A trainer's rank that makes no copies itself.
  Worker Trainer(uint32_t rank = 0, uint32_t world = 1) {
    Worker trainer = cluster_.Start();
    EXPECT_EQ(trainer->Do(cluster_.ConnectCommand("trainer", rank, world) + " copies=0"), "ok");
    EXPECT_EQ(trainer->Do("register"), "ok");
    return trainer;
  }
  static void ExpectHolding(Process& agent, int version) {
    const std::string text = "holding m/actor version " + std::to_string(version) + " ";
    ASSERT_TRUE(agent.output().WaitFor(text, seconds(30))) << agent.Describe();
  }

  Cluster cluster_;
};

// Whoever is stopped stays known for longer than any wait.
class LongLeaseTest : public AgentTest {
 protected:
  LongLeaseTest() : AgentTest("60s") {}
};

TEST_F(AgentTest, KeepsTheNewestVersionWhenItsTrainerIsGone) {
  const auto agent = StartAgent();
  Worker trainer = Trainer();
  FillAndPublish(*trainer, 1);
  ExpectHolding(*agent, 1);
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  FillAndPublish(*trainer, 2);
  ExpectHolding(*agent, 2);
  ASSERT_EQ(trainer->Do("leave"), "ok");
  Worker reader = cluster_.Join("reader");
  const std::string answer = reader->Do("fetch latest");
  ExpectFetched(*reader, answer, 2);
  EXPECT_THAT(answer, HasSubstr("sources=keeper/0"));
  agent->Signal(SIGTERM);
  EXPECT_EQ(agent->Wait(seconds(30)), 0) << agent->Describe();
}

TEST_F(AgentTest, KeepsAllRanks) {
  std::vector<Worker> trainers;
  for (uint32_t rank = 0; rank < 2; ++rank) trainers.push_back(Trainer(rank, 2));
  for (const std::string& answer : DoAll(trainers, "fill 1")) ASSERT_EQ(answer, "ok");
  for (const std::string& answer : DoAll(trainers, "publish 1")) {
    ASSERT_THAT(answer, StartsWith("ok"));
  }
  const auto agent = StartAgent();
  ExpectHolding(*agent, 1);
  for (const std::string& answer : DoAll(trainers, "leave")) ASSERT_EQ(answer, "ok");
  const std::vector<Worker> readers = cluster_.JoinGroup("reader", 2);
  for (const Worker& reader : readers) reader->Send("fetch latest");
  for (const Worker& reader : readers) ExpectFetched(*reader, reader->Answer(), 1);
}

TEST_F(AgentTest, ComesBackToAServerThatWasAway) {
  const auto agent = StartAgent();
  Worker trainer = Trainer();
  FillAndPublish(*trainer, 1);
  ExpectHolding(*agent, 1);
  cluster_.server().Restart();
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  FillAndPublish(*trainer, 2);
  ExpectHolding(*agent, 2);
}

TEST_F(LongLeaseTest, EndsInTheMiddleOfAFetch) {
  Worker trainer = Trainer();
  FillAndPublish(*trainer, 1);
  trainer->process().Signal(SIGSTOP);  // the fetch begins and does not go on
  const auto agent = StartAgent();
  Worker other = cluster_.Join("other");
  ASSERT_TRUE(Eventually(seconds(20),
                         [&] { return other->Do("list").find("keeper") != std::string::npos; }));
  agent->Signal(SIGTERM);
  EXPECT_EQ(agent->Wait(seconds(10)), 0) << agent->Describe();
  trainer->process().Signal(SIGCONT);
}

TEST_F(AgentTest, ARankThatWasTakenOverIsTakenBack) {
  const auto agent = StartAgent();
  Worker trainer = Trainer();
  FillAndPublish(*trainer, 1);
  ExpectHolding(*agent, 1);
  agent->Signal(SIGSTOP);
  Worker usurper = cluster_.Start();
  ASSERT_EQ(usurper->Do(cluster_.ConnectCommand("keeper") + " timeout=30000"), "ok");
  agent->Signal(SIGCONT);
  ASSERT_EQ(usurper->Do("leave"), "ok");
  ASSERT_THAT(trainer->Do("unpublish force"), StartsWith("ok"));
  FillAndPublish(*trainer, 2);
  ExpectHolding(*agent, 2);
}

TEST_F(AgentTest, OtherTensorsEndIt) {
  const auto agent = StartAgent();
  Worker trainer = Trainer();
  FillAndPublish(*trainer, 1);
  ExpectHolding(*agent, 1);
  ASSERT_EQ(trainer->Do("leave"), "ok");
  Worker other = cluster_.Join("other", "tensors=3 bytes=4096");
  FillAndPublish(*other, 2);
  EXPECT_EQ(agent->Wait(seconds(30)), 1) << agent->Describe();
  EXPECT_THAT(agent->errors().Text(), HasSubstr("other tensors"));
}

TEST(AgentUsageTest, AModelIsNeeded) {
  const Finished run = RunToEnd({.binary = BinaryPath("tensorhub-agent")}, seconds(20));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.errors, HasSubstr("--model"));
}

TEST(AgentUsageTest, NoTimeIsNoTimeout) {
  const Finished run = RunToEnd(
      {.binary = BinaryPath("tensorhub-agent"), .args = {"--model", "m", "--connect-timeout", "0"}},
      seconds(20));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.errors, HasSubstr("--connect-timeout: give at least 1ms"));
}

}  // namespace
}  // namespace tensorhub::harness
