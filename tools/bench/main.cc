// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub-bench: how fast TensorHub is, against what the machine allows. Starts everything that
// it measures, itself among it: `tensorhub-bench @ROLE "key=value ..."` is one of its children.

#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/cli/flags.h"
#include "common/cli/lock_tracking.h"
#include "tools/bench/agent_role.h"
#include "tools/bench/bare_gets.h"
#include "tools/bench/bare_messages.h"
#include "tools/bench/child.h"
#include "tools/bench/figures.h"
#include "tools/bench/process_facts.h"
#include "tools/bench/publisher_role.h"
#include "tools/bench/relay_role.h"
#include "tools/bench/scenario.h"

namespace tensorhub::bench {
namespace {

constexpr char kName[] = "tensorhub-bench";
constexpr int kFailure = 1;
constexpr int kUsage = 2;

// Clears the line that it writes.
void EndProgress() { ShowProgress(""); }

int RunRole(const std::string& role, const std::string& arguments) {
  cli::InitLogging(kName, {});
  const absl::StatusOr<Fields> fields = Fields::Parse(arguments);
  if (!fields.ok()) return kUsage;
  if (role == "@agent") return RunAgent(*fields);
  if (role == "@publisher") return RunPublisher(*fields);
  if (role == "@relay") return RunRelay(*fields);
  if (role == "@bare-messages") return RunBareMessages(*fields);
  if (role == "@bare-gets") return RunBareGets(*fields);
  return kUsage;
}

int RunScenario(Scenario& scenario, bool json) {
  Report report;
  report.scenario = scenario.name();
  const absl::Status status = scenario.Run(report);
  EndProgress();
  if (!status.ok()) {
    return cli::Fail(kName, cli::OneLine(std::string(status.message())),
                     absl::IsInvalidArgument(status) ? kUsage : kFailure);
  }
  if (const std::string problem = ProblemOf(report); !problem.empty()) {
    return cli::Fail(kName, problem, kFailure);
  }
  report.machine = MachineLine();
  for (const std::string& doubt : Implausible(report)) report.doubts.push_back(doubt);
  if (json) {  // the object has no place for them, but nobody shall miss them
    for (const std::string& doubt : report.doubts) std::cerr << kName << ": " << doubt << '\n';
  }
  if (json) {
    PrintJson(report, std::cout);
  } else {
    PrintTable(report, std::cout);
  }
  std::cout.flush();
  return std::cout.good() ? 0 : cli::Fail(kName, "standard output cannot be written", kFailure);
}

int Main(int argc, char** argv) {
  cli::StopLockTracking();
  if (argc == 3 && argv[1][0] == '@') return RunRole(argv[1], argv[2]);
  std::vector<std::unique_ptr<Scenario>> scenarios;
  scenarios.push_back(MakeReadScenario());
  scenarios.push_back(MakeDeviceScenario());
  scenarios.push_back(MakePublishScenario());
  scenarios.push_back(MakeServerScenario());
  scenarios.push_back(MakeRecoveryScenario());
  scenarios.push_back(MakeDecisionScenario());
  scenarios.push_back(MakeBroadcastScenario());
  scenarios.push_back(MakeElasticScenario());
  scenarios.push_back(MakeCrossDcScenario());
  std::string output = "table";
  cli::CommandLine line(kName, "Measures TensorHub against what the machine allows.");
  line.Choice("output", &output, {"table", "json"}, "how results are printed", 'o');
  for (const auto& scenario : scenarios) {
    scenario->AddFlags(line.AddCommand(scenario->name(), scenario->summary()));
  }
  if (std::optional<int> exit_code = line.Parse(argc, argv)) return *exit_code;
  cli::InitLogging(line.name(), line.log());
  for (const auto& scenario : scenarios) {
    if (scenario->name() == line.verb()) return RunScenario(*scenario, output == "json");
  }
  return kUsage;
}

}  // namespace

void ShowProgress(const std::string& text) {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  if (terminal) std::cerr << "\r\x1b[K" << text << std::flush;
}

}  // namespace tensorhub::bench

int main(int argc, char** argv) { return tensorhub::bench::Main(argc, argv); }
