// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub-bench: how fast TensorHub is, against what the machine allows. Starts everything that
// it measures, itself among it: `tensorhub-bench @ROLE "key=value ..."` is one of its children.

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/agent_role.h"
#include "bench/bare_gets.h"
#include "bench/bare_messages.h"
#include "bench/bare_sockets.h"
#include "bench/publisher_role.h"
#include "bench/relay_role.h"
#include "bench/run_scenario.h"
#include "bench/scenario.h"
#include "bench/shard_role.h"
#include "common/cli/flags.h"
#include "common/cli/program.h"
#include "tools/child/child.h"

namespace tensorhub::bench {
namespace {

constexpr int kUsage = 2;

int RunRole(const std::string& role, const std::string& arguments) {
  cli::InitLogging(kBenchName, {});
  const absl::StatusOr<Fields> fields = Fields::Parse(arguments);
  if (!fields.ok()) return kUsage;
  if (role == "@agent") return RunAgent(*fields);
  if (role == "@publisher") return RunPublisher(*fields);
  if (role == "@relay") return RunRelay(*fields);
  if (role == "@shard") return RunShard(*fields);
  if (role == "@bare-messages") return RunBareMessages(*fields);
  if (role == "@bare-sockets") return RunBareSockets(*fields);
  if (role == "@bare-gets") return RunBareGets(*fields);
  return kUsage;
}

int Main(int argc, char** argv) {
  cli::StartProgram();
  if (argc == 3 && argv[1][0] == '@') return RunRole(argv[1], argv[2]);
  std::vector<std::unique_ptr<Scenario>> scenarios;
  scenarios.push_back(MakeReadScenario());
  scenarios.push_back(MakeDeviceScenario());
  scenarios.push_back(MakePublishScenario());
  scenarios.push_back(MakeServerScenario());
  scenarios.push_back(MakeRecoveryScenario());
  scenarios.push_back(MakeDecisionScenario());
  scenarios.push_back(MakePlanScenario());
  scenarios.push_back(MakeReshardScenario());
  scenarios.push_back(MakeBroadcastScenario());
  scenarios.push_back(MakeElasticScenario());
  scenarios.push_back(MakeCrossDcScenario());
  scenarios.push_back(MakeSpreadScenario());
  scenarios.push_back(MakeReshardNetScenario());
  std::string output = "table";
  cli::CommandLine line(kBenchName, "Measures TensorHub against what the machine allows.");
  line.Choice("output", &output, {"table", "json"}, "how results are printed", 'o');
  for (const auto& scenario : scenarios) {
    scenario->AddFlags(line.AddCommand(scenario->name(), scenario->summary()));
  }
  if (std::optional<int> exit_code = line.Parse(argc, argv)) return *exit_code;
  cli::InitLogging(line.name(), line.log());
  for (const auto& scenario : scenarios) {
    if (scenario->name() == line.verb()) return RunScenario(*scenario, output == "json", std::cout);
  }
  return kUsage;
}

}  // namespace

}  // namespace tensorhub::bench

int main(int argc, char** argv) { return tensorhub::bench::Main(argc, argv); }
