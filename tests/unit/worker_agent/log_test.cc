// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  logger->flush();
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

TEST(Log, SaysMoreOrLessIfAsked) {
  EXPECT_THAT(Said("error"), Not(HasSubstr("a warning")));
  EXPECT_THAT(Said("info"), HasSubstr("a fact"));
  EXPECT_THAT(Said("info"), Not(HasSubstr("a detail")));
  EXPECT_THAT(Said("debug"), HasSubstr("a detail"));
}

}  // namespace
}  // namespace tensorhub::agent
