// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub-sim: the hub's and the agents' own code in simulated surroundings.

#include <iostream>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "bench/figures.h"
#include "common/cli/flags.h"
#include "common/cli/program.h"
#include "tools/sim/check.h"
#include "tools/sim/replay.h"
#include "tools/sim/scale.h"
#include "tools/sim/trace.h"

namespace tensorhub::sim {
namespace {

constexpr char kName[] = "tensorhub-sim";
constexpr int kFailure = 1;
constexpr int kUsage = 2;

int Print(const bench::Report& report, bool json) {
  if (const std::string problem = bench::ProblemOf(report); !problem.empty()) {
    return cli::Fail(kName, problem, kFailure);
  }
  json ? bench::PrintJson(report, std::cout) : bench::PrintTable(report, std::cout);
  std::cout.flush();
  return std::cout.good() ? 0 : cli::Fail(kName, "standard output cannot be written", kFailure);
}

int Main(int argc, char** argv) {
  cli::StartProgram();
  std::string output = "table";
  ScaleVerb scale;
  CheckVerb check;
  TraceVerb trace;
  ReplayVerb replay;
  cli::CommandLine line(kName,
                        "Runs the hub's and the agents' own code in simulated surroundings.");
  line.Choice("output", &output, {"table", "json"}, "how results are printed", 'o');
  cli::Command& scale_command =
      line.AddCommand("scale", "Thousands of GPUs in a modelled network, beside what others do.");
  scale.AddFlags(scale_command);
  cli::Command& check_command = line.AddCommand(
      "check", "Everything that can go wrong, against the rules; exits with 1 if one is broken.");
  check.AddFlags(check_command);
  cli::Command& trace_command = line.AddCommand(
      "trace", "A hash of all that the cores do in each seed, to compare two builds by.");
  trace.AddFlags(trace_command);
  cli::Command& replay_command = line.AddCommand(
      "replay", "What a server recorded, gone through again: every effect has to be the same.");
  replay.AddFlags(replay_command);
  if (std::optional<int> exit_code = line.Parse(argc, argv)) return *exit_code;
  cli::InitLogging(line.name(), line.log());
  bench::Report report;
  const std::string& verb = line.verb();
  const bool prints = verb == "trace" || verb == "replay";
  const absl::Status status = verb == "trace"    ? trace.Run(std::cout)
                              : verb == "replay" ? replay.Run(output == "json", std::cout)
                              : verb == "check"  ? check.Run(report)
                                                 : scale.Run(scale_command, report);
  if (status.ok()) return prints ? 0 : Print(report, output == "json");
  return cli::Fail(kName, cli::OneLine(std::string(status.message())),
                   absl::IsInvalidArgument(status) ? kUsage : kFailure);
}

}  // namespace
}  // namespace tensorhub::sim

int main(int argc, char** argv) { return tensorhub::sim::Main(argc, argv); }
