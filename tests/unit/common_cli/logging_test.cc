// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace tensorhub::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Logged(const LogOptions& options, const std::string& message) {
  testing::internal::CaptureStderr();
  InitLogging("prog", options);
  spdlog::debug("hidden");
  spdlog::warn(message);
  return testing::internal::GetCapturedStderr();
}

TEST(LoggingTest, TextIsOneLine) {
  const std::string line = Logged({.level = "info", .format = "text"}, "two\nlines");
  EXPECT_THAT(line, testing::EndsWith("Z warn prog: two\\nlines\n"));
  EXPECT_THAT(line, Not(HasSubstr("hidden")));
}

TEST(LoggingTest, JsonIsEscaped) {
  const std::string line =
      Logged({.level = "debug", .format = "json"}, "a \"b\"\\ \x01\xff\xc3\xa9");
  EXPECT_THAT(line, HasSubstr("\"level\":\"warn\",\"program\":\"prog\""));
  EXPECT_THAT(line, HasSubstr("\"message\":\"a \\\"b\\\"\\\\ \\u0001\\ufffd\xc3\xa9\"}\n"));
  EXPECT_THAT(line, HasSubstr("hidden"));
}

TEST(LoggingTest, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(JsonEscaped("\xc0\xaf"), "\\ufffd\\ufffd");             // overlong
  EXPECT_EQ(JsonEscaped("\xed\xa0\x80"), "\\ufffd\\ufffd\\ufffd");  // surrogate
  EXPECT_EQ(JsonEscaped("\xe2\x82"), "\\ufffd\\ufffd");             // cut off
  EXPECT_EQ(JsonEscaped("\xe2\x82\xac"), "\xe2\x82\xac");
}

}  // namespace
}  // namespace tensorhub::cli
