// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "common/cli/log_thread.h"

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

// Standard error is a pipe that nobody reads until asked to.
class UnreadPipe {
 public:
  UnreadPipe() : stderr_(dup(STDERR_FILENO)) {
    EXPECT_EQ(pipe(ends_), 0);
    dup2(ends_[1], STDERR_FILENO);
    close(ends_[1]);
  }
  ~UnreadPipe() {
    dup2(stderr_, STDERR_FILENO);
    close(stderr_);
    close(ends_[0]);
  }
  // Until a line has this text.
  std::string ReadUntil(const std::string& text) {
    std::string all;
    char buffer[4096];
    while (all.find(text) == std::string::npos) {
      const ssize_t bytes = read(ends_[0], buffer, sizeof(buffer));
      if (bytes <= 0) break;
      all.append(buffer, static_cast<size_t>(bytes));
    }
    return all;
  }

 private:
  int stderr_;
  int ends_[2] = {};
};

TEST(LogThreadTest, WhatWasLoggedIsWrittenByTheEnd) {
  testing::internal::CaptureStderr();
  {
    const LogThread thread("prog", {.level = "info", .format = "text"});
    for (int i = 0; i < 1000; ++i) spdlog::info("line {}", i);
    spdlog::debug("hidden");
    spdlog::get("tensorhub")->warn("of the agent");
  }
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines, HasSubstr("info prog: line 0\n"));
  EXPECT_THAT(lines, testing::EndsWith("warn prog: of the agent\n"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1001);
}

TEST(LogThreadTest, NobodyWaitsForAReader) {
  constexpr int kLines = 3 * static_cast<int>(LogThread::kWaitingMax);
  UnreadPipe pipe;
  {
    const LogThread thread("prog", {.level = "info", .format = "text"});
    for (int i = 1; i < kLines; ++i) spdlog::info("line");
    spdlog::info("last");
  }
  std::istringstream lines(pipe.ReadUntil("prog: last\n"));
  int written = 0;
  int missing = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool gap = line.find(" lines are missing here: ") != std::string::npos;
    if (gap) missing += std::stoi(line.substr(line.find("prog: ") + 6));
    written += gap ? 0 : 1;
  }
  EXPECT_GT(missing, 0);
  EXPECT_EQ(written + missing, kLines);
}

}  // namespace
}  // namespace tensorhub::cli
