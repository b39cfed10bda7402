// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/run_scenario.h"

#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tensorhub::bench {
namespace {

// Measures one thing or nothing, and ends as it is told to.
class FakeScenario final : public Scenario {
 public:
  FakeScenario(bool measures, absl::Status end) : measures_(measures), end_(std::move(end)) {}
  std::string name() const override { return "fake"; }
  std::string summary() const override { return ""; }
  void AddFlags(cli::Command& /*command*/) override {}
  absl::Status Run(Report& report) override {
    if (measures_) {
      report.figures.push_back(
          {.name = "speed", .value = 2, .unit = "GB/s", .limit = 4, .limit_name = "a copy"});
    }
    return end_;
  }

 private:
  const bool measures_;
  const absl::Status end_;
};

struct Outcome {
  int exit_status = 0;
  std::string printed;
};

Outcome RunFake(bool measures, const absl::Status& end) {
  FakeScenario scenario(measures, end);
  std::ostringstream out;
  const int exit_status = RunScenario(scenario, /*json=*/true, out);
  return {exit_status, out.str()};
}

TEST(RunScenario, PrintsWhatWasMeasured) {
  const Outcome outcome = RunFake(true, absl::OkStatus());
  EXPECT_EQ(outcome.exit_status, 0);
  const auto report = nlohmann::json::parse(outcome.printed);
  EXPECT_EQ(report["figures"].size(), 1u);
  EXPECT_EQ(report["notes"].size(), 0u);
}

// An hour's figures are not lost by what fails in the end.
TEST(RunScenario, PrintsWhatWasMeasuredBeforeItFailed) {
  const Outcome outcome = RunFake(true, absl::UnavailableError("the device is gone"));
  EXPECT_EQ(outcome.exit_status, 1);
  const auto report = nlohmann::json::parse(outcome.printed);
  EXPECT_EQ(report["figures"].size(), 1u);
  EXPECT_EQ(report["notes"][0], "it ended early: the device is gone");
}

TEST(RunScenario, SaysNothingWhereNothingWasMeasured) {
  EXPECT_EQ(RunFake(false, absl::UnavailableError("no server")).exit_status, 1);
  EXPECT_EQ(RunFake(false, absl::InvalidArgumentError("--rounds: give at least 1")).exit_status, 2);
  EXPECT_EQ(RunFake(false, absl::UnavailableError("no server")).printed, "");
}

}  // namespace
}  // namespace tensorhub::bench
