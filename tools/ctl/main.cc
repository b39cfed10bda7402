// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhubctl: looks at a running hub, and brings files in and out.

#include <iostream>
#include <string>

#include "common/cli/flags.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/verbs.h"

namespace {

constexpr int kUsage = 2;

}  // namespace

int main(int argc, char** argv) {
  using namespace tensorhub;
  ctl::Globals globals;
  cli::CommandLine line("tensorhubctl",
                        "Looks at a running TensorHub, and brings files in and out.");
  line.Flag("server", &globals.server, "the hub", {.placeholder = "HOST:PORT"});
  line.Choice("output", &globals.output, {"table", "json"}, "how results are printed", 'o');
  line.Flag("connect-timeout", &globals.connect_timeout,
            "how long an unreachable server is retried");
  ctl::Verbs verbs(line);
  ctl::AddStatusVerbs(verbs);
  ctl::AddListVerbs(verbs);
  ctl::AddWatchVerb(verbs);
  ctl::AddPublishVerb(verbs);
  ctl::AddFetchVerb(verbs);
  if (std::optional<int> exit_code = line.Parse(argc, argv)) return *exit_code;
  if (auto problem = ctl::ServerProblem(globals.server)) {
    return cli::Fail(line.name(), "--server: \"" + cli::OneLine(globals.server) + "\" " + *problem,
                     kUsage);
  }
  cli::InitLogging(line.name(), line.log());
  const absl::Status status = verbs.Execute(line.verb(), globals);
  if (!status.ok()) return cli::Fail(line.name(), cli::OneLine(std::string(status.message())), 1);
  std::cout.flush();
  return std::cout.good() ? 0 : cli::Fail(line.name(), "standard output cannot be written", 1);
}
