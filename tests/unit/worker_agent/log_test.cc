// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/runtime/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <string>

namespace tensorhub::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What a program with that TENSORHUB_LOG_LEVEL has on standard error.
std::string Said(const char* level) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const auto logger = MakeStderrLogger(level);
  logger->debug("a detail");
  logger->info("a fact");
  logger->warn("a warning");
  logger->error("an error");
  poll(nullptr, 0, 50);  // another thread writes
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  return testing::internal::GetCapturedStderr();
}

TEST(Log, GoesToStandardErrorFromWarningsOn) {
  for (const char* level : {static_cast<const char*>(nullptr), "", "warn", "nonsense"}) {
    EXPECT_THAT(Said(level), HasSubstr("a warning"));
    EXPECT_THAT(Said(level), HasSubstr("an error"));
    EXPECT_THAT(Said(level), Not(HasSubstr("a fact")));
  }
}

// A pipe that nobody reads holds nobody up who writes to the log.
TEST(Log, WaitsForNobodyWhoReadsIt) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  const int before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  const auto logger = MakeStderrLogger("warn");
  for (int line = 0; line < 5000; ++line) logger->warn("{}", std::string(100, '.'));
  dup2(before, STDERR_FILENO);
  for (const int fd : {ends[0], ends[1], before}) close(fd);
}

TEST(Log, SaysMoreOrLessIfAsked) {
  EXPECT_THAT(Said("error"), Not(HasSubstr("a warning")));
  EXPECT_THAT(Said("info"), HasSubstr("a fact"));
  EXPECT_THAT(Said("info"), Not(HasSubstr("a detail")));
  EXPECT_THAT(Said("debug"), HasSubstr("a detail"));
}

}  // namespace
}  // namespace tensorhub::agent
