// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a hub's refusal is to the caller of a verb: the whole agent against a hub that wants it no
// more.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>

#include "tests/unit/worker_agent/scripted_hub.h"
#include "worker_agent/agent.h"

namespace tensorhub::agent {
namespace {

using testing::HasSubstr;

class AgentRefusedTest : public testing::Test {
 protected:
  // Welcomes the worker, loses it at its first heartbeat, and then answers like this.
  void Start(const ScriptedHub::Plan& after) {
    ScriptedHub::Plan first{.welcome = WelcomeOf('A', 5),
                            .end = {grpc::StatusCode::UNAVAILABLE, "lost"},
                            .await_message = true};
    first.welcome->set_heartbeat_ms(20);
    hub_.Add(first);
    hub_.Add(after);
    AgentOptions options;
    options.server = hub_.address();
    options.key = {"m", "trainer", 0};
    auto agent = Agent::Start(options);
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
    TensorBuffer tensor;
    tensor.name = "w";
    tensor.dtype = "U8";
    tensor.shape = {bytes_.size()};
    tensor.data = bytes_.data();
    tensor.bytes = bytes_.size();
    ASSERT_TRUE(agent_->Register({tensor}).ok());
  }

  ScriptedHub hub_;
  std::array<std::byte, 4096> bytes_{};
  std::unique_ptr<Agent> agent_;
};

// The verb is under way, or comes later: both hear the same, and at once.
TEST_F(AgentRefusedTest, AReplacedWorkersVerbsSaySo) {
  Start({.end = {grpc::StatusCode::ALREADY_EXISTS, "trainer/0 is held by another worker"}});
  PublishVerb publish;
  publish.timeout_ms = 600000;
  const absl::Status published = agent_->RunVerb(publish).status;
  EXPECT_EQ(published.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(published.message()), HasSubstr("this worker was replaced"));
  EXPECT_EQ(agent_->RunVerb(FetchVerb{}).status, published);
  // What is safe without a hub still is.
  EXPECT_TRUE(agent_->RunVerb(UnpublishVerb{}).status.ok());
  EXPECT_TRUE(agent_->RunVerb(LeaveVerb{}).status.ok());
}

TEST_F(AgentRefusedTest, AnotherHubsWordIsRefusedAtTheVerbs) {
  Start({.welcome = WelcomeOf('B', 1), .await_message = true});
  PublishVerb publish;
  publish.timeout_ms = 600000;
  const absl::Status published = agent_->RunVerb(publish).status;
  EXPECT_EQ(published.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(published.message()), HasSubstr("is another one now"));
}

// Nobody is asked: there is no server.
TEST(AgentStartTest, ALocationThatIsNoneIsRefused) {
  AgentOptions options;
  options.key = {"m", "trainer", 0};
  options.location = "us//r1";
  const absl::Status status = Agent::Start(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("location \"us//r1\""));
}

// A copy in host memory may be on its way out when its keeper stops it.
TEST_F(AgentRefusedTest, StoppingEndsTheVerbThatIsUnderWay) {
  Start({.await_message = true});
  PublishVerb publish;
  publish.timeout_ms = 600000;
  auto published = std::async(std::launch::async, [&] { return agent_->RunVerb(publish).status; });
  ASSERT_EQ(published.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  agent_->Stop();
  EXPECT_FALSE(published.get().ok());  // it comes to an end
}

}  // namespace
}  // namespace tensorhub::agent
