// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The binaries as a user runs them, and what holds for each run.

#ifndef TENSORHUB_TESTS_INTEGRATION_CTL_CTL_H_
#define TENSORHUB_TESTS_INTEGRATION_CTL_CTL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/integration/harness/places.h"
#include "tests/integration/harness/process.h"

namespace tensorhub::harness {

using Arguments = std::vector<std::string>;

// A failure is one line on standard error that contains all of `named`, and nothing else.
inline void ExpectFailure(const Finished& run, int exit_code, const Arguments& named) {
  EXPECT_EQ(run.exit_code, exit_code) << run.errors;
  EXPECT_EQ(run.output, "");
  EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
  for (const std::string& text : named) EXPECT_THAT(run.errors, testing::HasSubstr(text));
}

// tensorhubctl against one server.
class Ctl {
 public:
  explicit Ctl(std::string server) : server_(std::move(server)) {}

  Finished Run(Arguments words) const { return RunToEnd(Command(std::move(words))); }
  // Runs on: publish, watch.
  std::unique_ptr<Process> Start(Arguments words) const {
    return std::make_unique<Process>(Command(std::move(words)));
  }

  // What a run that succeeds prints.
  std::string Text(Arguments words) const {
    const Finished run = Run(std::move(words));
    EXPECT_EQ(run.exit_code, 0) << run.errors;
    EXPECT_EQ(run.errors, "");
    return run.output;
  }
  // The same with -o json: one line, one object.
  nlohmann::json Json(Arguments words) const {
    words.insert(words.end(), {"-o", "json"});
    const std::string text = Text(std::move(words));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(object.is_object()) << text;
    return object;
  }
  // A publisher that serves, or has failed the test.
  std::unique_ptr<Process> Publish(Arguments words) const {
    words.insert(words.begin(), "publish");
    auto process = Start(std::move(words));
    EXPECT_TRUE(process->output().WaitFor("published", seconds(30))) << process->Describe();
    return process;
  }

 private:
  Process::Options Command(Arguments words) const {
    words.insert(words.begin(), {"--server", server_});
    return {.binary = BinaryPath("tensorhubctl"), .args = std::move(words)};
  }

  const std::string server_;
};

// Exit code 0, and no word on standard error, but that the machine was busy.
inline void ExpectEndsWell(Process& process) {
  ASSERT_EQ(process.Wait(seconds(30)), 0) << process.Describe();
  for (const absl::string_view line : absl::StrSplit(process.errors().Text(), '\n')) {
    EXPECT_TRUE(line.empty() || absl::StrContains(line, "the progress thread was held up")) << line;
  }
}

inline void Interrupt(Process& process) {
  process.Signal(SIGINT);
  ExpectEndsWell(process);
}

}  // namespace tensorhub::harness

#endif  // TENSORHUB_TESTS_INTEGRATION_CTL_CTL_H_
