// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An agent in the process of somebody who may start no thread any more.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "worker_agent/agent.h"

namespace tensorhub::agent {
namespace {

TEST(NoThreads, AnAgentIsRefusedAndTheProcessGoesOn) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit one = {1, 1};
    const bool set = setrlimit(RLIMIT_NPROC, &one) == 0 &&
                     (geteuid() != 0 || setresuid(65534, 65534, 65534) == 0);  // none is for root
    AgentOptions options;
    options.server = "localhost:1";
    options.key = {"m", "g", 0};
    const absl::Status status = Agent::Start(options).status();
    const bool named =
        std::string(status.message()).find("threads for a client") != std::string::npos;
    _exit(set && absl::IsResourceExhausted(status) && named ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tensorhub::agent
