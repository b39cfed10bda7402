// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: copies in host memory, with agents in the test's own process, so that it can say what a
// server says only in a moment that cannot be hit.

#include "worker_agent/host_copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/server_process.h"
#include "worker_agent/agent.h"

namespace tensorhub::harness {
namespace {

using agent::Agent;
using agent::AgentOptions;
using agent::HostCopies;

constexpr size_t kBytes = 1 << 20;

class HostCopiesTest : public testing::Test {
 protected:
  HostCopiesTest() : server_({"--keep-latest", "1"}), bytes_(kBytes) {
    options_.server = server_.address();
    options_.key = {"m", "trainer", 0};
    options_.host_copy_bytes = 2 * kBytes;
    agent::TensorBuffer tensor;
    tensor.name = "w";
    tensor.dtype = "U8";
    tensor.shape = {kBytes};
    tensor.data = bytes_.data();
    tensor.bytes = kBytes;
    tensors_ = {tensor};
  }

  bool Lists(Agent& agent, const std::string& group) {
    const auto versions = agent.List();
    if (!versions.ok()) return false;
    return std::any_of(versions->begin(), versions->end(), [&](const auto& version) {
      return std::any_of(version.replicas.begin(), version.replicas.end(),
                         [&](const auto& replica) {
                           return replica.group == group && replica.ranks_complete == 1;
                         });
    });
  }

  ServerProcess server_;
  AgentOptions options_;
  std::vector<std::byte> bytes_;
  std::vector<agent::TensorBuffer> tensors_;
};

TEST_F(HostCopiesTest, ACopyThatIsWantedAgainStays) {
  AgentOptions of_trainer = options_;
  of_trainer.host_copy_bytes = 0;
  const auto trainer = Agent::Start(of_trainer);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ASSERT_TRUE((*trainer)->Register(tensors_).ok());
  ASSERT_TRUE((*trainer)->RunVerb(agent::PublishVerb{.version = 1}).status.ok());
  HostCopies copies(options_, [](VersionNumber, const absl::Status& status) { FAIL() << status; });
  copies.SetShard(tensors_);
  copies.Make(1, 10'000);
  ASSERT_TRUE(Eventually(seconds(10), [&] { return Lists(**trainer, "trainer.copy.1"); }));
  ASSERT_TRUE((*trainer)->RunVerb(agent::UnpublishVerb{}).status.ok());
  copies.Release(1);
  EXPECT_FALSE(Eventually(milliseconds(500), [&] { return !Lists(**trainer, "trainer.copy.1"); }));
  // Once it is not, it goes.
  ASSERT_TRUE((*trainer)->RunVerb(agent::PublishVerb{.version = 2}).status.ok());
  EXPECT_TRUE(Eventually(seconds(10), [&] { return !Lists(**trainer, "trainer.copy.1"); }));
}

}  // namespace
}  // namespace tensorhub::harness
