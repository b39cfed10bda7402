// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/harness/worker_process.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <utility>

#include "tests/integration/harness/places.h"

namespace tensorhub::harness {
namespace {

// What the watchdog may not have said. A sanitizer takes longer for everything.
#ifdef TENSORHUB_SANITIZED
constexpr std::array kNotSaid = {"the progress thread stands still"};
#else
constexpr std::array kNotSaid = {"the progress thread was held up",
                                 "the progress thread stands still", "the progress thread is busy"};
#endif

}  // namespace

WorkerProcess::WorkerProcess(std::map<std::string, std::string> env)
    : process_({.binary = BinaryPath("tensorhub-test-worker"), .args = {}, .env = std::move(env)}) {
}

WorkerProcess::~WorkerProcess() {
  for (const char* said : kNotSaid) {
    EXPECT_FALSE(process_.errors().Contains(said)) << process_.Describe();
  }
}

void WorkerProcess::Send(const std::string& command) {
  progress_from_ = process_.output().LineCount();
  process_.WriteLine(command);
}

std::string WorkerProcess::Answer(milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    const std::optional<std::string> line = process_.output().Next(std::max(left, milliseconds(0)));
    if (!line.has_value()) {
      return (process_.Wait(milliseconds(200)) ? "dead: " : "silent: ") + process_.Describe();
    }
    if (line->rfind("ok", 0) == 0 || line->rfind("error", 0) == 0) return *line;
  }
}

std::string WorkerProcess::Do(const std::string& command, milliseconds timeout) {
  Send(command);
  return Answer(timeout);
}

bool WorkerProcess::AwaitProgress(milliseconds timeout) {
  return process_.output().WaitFor("progress ", timeout, progress_from_).has_value();
}

std::string WorkerProcess::PresentSource() {
  const auto progress = process_.output().WaitFor("progress ", seconds(1), progress_from_);
  return progress ? progress->substr(progress->rfind(' ') + 1) : "";
}

std::string Field(const std::string& answer, const std::string& name) {
  const std::string key = " " + name + "=";
  const size_t at = answer.find(key);
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size();
  return answer.substr(begin, answer.find(' ', begin) - begin);
}

}  // namespace tensorhub::harness
