// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/run_scenario.h"

#include <unistd.h>

#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/figures.h"
#include "bench/process_facts.h"
#include "common/cli/flags.h"
#include "common/cli/logging.h"

namespace tensorhub::bench {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

// Clears the line that it writes.
void EndProgress() { ShowProgress(""); }

void Print(Report& report, bool json, std::ostream& out) {
  report.machine = MachineLine();
  for (const std::string& doubt : Implausible(report)) report.doubts.push_back(doubt);
  if (json) {  // the object has no place for them, but nobody shall miss them
    for (const std::string& doubt : report.doubts) std::cerr << kBenchName << ": " << doubt << '\n';
  }
  json ? PrintJson(report, out) : PrintTable(report, out);
  out.flush();
}

}  // namespace

void ShowProgress(const std::string& text) {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  if (terminal) std::cerr << "\r\x1b[K" << text << std::flush;
}

int RunScenario(Scenario& scenario, bool json, std::ostream& out) {
  Report report;
  report.scenario = scenario.name();
  const absl::Status status = scenario.Run(report);
  EndProgress();
  const std::string why = cli::OneLine(std::string(status.message()));
  const std::string problem = ProblemOf(report);
  if (!status.ok() && (report.figures.empty() || !problem.empty())) {
    return cli::Fail(kBenchName, why, absl::IsInvalidArgument(status) ? kUsage : kFailure);
  }
  if (!problem.empty()) return cli::Fail(kBenchName, problem, kFailure);
  if (!status.ok()) report.notes.push_back(absl::StrCat("it ended early: ", why));
  Print(report, json, out);
  if (!out.good()) return cli::Fail(kBenchName, "standard output cannot be written", kFailure);
  return status.ok() ? 0 : cli::Fail(kBenchName, why, kFailure);
}

}  // namespace tensorhub::bench
