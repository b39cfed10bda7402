// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhubctl: looks at a running hub, and brings files in and out.

#include <csignal>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/cli/child.h"
#include "common/cli/flags.h"
#include "common/cli/program.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/doctor/idle_read.h"
#include "tools/ctl/security_flags.h"
#include "tools/ctl/verbs.h"

namespace tensorhub::ctl {
namespace {

constexpr int kUsage = 2;

// What is wrong with the flags beyond their types, or nothing.
cli::ErrorText Check(const Globals& globals, const tls::ClientSecurity& security) {
  if (auto problem = ServerProblem(globals.server)) return problem;
  if (globals.connect_timeout.count() == 0) return "--connect-timeout: give at least 1ms";
  if (auto problem = SecurityProblem(security, globals.server)) return problem;
  return std::nullopt;
}

// One line; for a program with the code in front.
std::string Said(const absl::Status& status, bool with_code) {
  const std::string message = cli::OneLine(std::string(status.message()));
  return with_code ? absl::StrCat(absl::StatusCodeToString(status.code()), ": ", message) : message;
}

int Main(int argc, char** argv) {
  cli::StartProgram();
  // What cannot be written is an error like others, after which nothing half-written stays.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc == 3 && std::string_view(argv[1]) == "@idle-source") return PlayIdleSource(argv[2]);
  Globals globals;
  cli::CommandLine line("tensorhubctl",
                        "Looks at a running TensorHub, and brings files in and out.");
  line.Flag("server", &globals.server, "the hub; where it has several servers, all of them",
            {.placeholder = "HOST:PORT,..."});
  line.Choice("output", &globals.output, {"table", "json"}, "how results are printed", 'o');
  line.Flag("connect-timeout", &globals.connect_timeout,
            "how long an unreachable server is retried");
  bool is_child = false;
  line.Flag("child", &is_child,
            "for programs that run this one: end when standard input, a pipe, ends, and begin an "
            "error with its code");
  tls::ClientSecurity security;
  DeclareSecurity(line, security);
  Verbs verbs(line);
  AddStatusVerbs(verbs);
  AddListVerbs(verbs);
  AddTreeVerb(verbs);
  AddExplainVerb(verbs);
  AddTraceVerb(verbs);
  AddTopVerb(verbs);
  AddWatchVerb(verbs);
  AddPublishVerb(verbs);
  AddFetchVerb(verbs);
  AddRetentionVerbs(verbs);
  AddDrainVerb(verbs);
  AddDoctorVerb(verbs);
  AddCompletionVerb(verbs);
  if (std::optional<int> exit_code = line.Parse(argc, argv)) return *exit_code;
  if (cli::ErrorText problem = Check(globals, security))
    return cli::Fail(line.name(), *problem, kUsage);
  if (const auto problem = is_child ? cli::EndWithInput() : std::nullopt)
    return cli::Fail(line.name(), "--child " + *problem, kUsage);
  UseInThisProcess(security);
  cli::InitLogging(line.name(), line.log());
  const absl::Status status = verbs.Execute(line.verb(), globals);
  if (!status.ok()) return cli::Fail(line.name(), Said(status, is_child), 1);
  std::cout.flush();
  return std::cout.good() ? 0 : cli::Fail(line.name(), "standard output cannot be written", 1);
}

}  // namespace
}  // namespace tensorhub::ctl

int main(int argc, char** argv) { return tensorhub::ctl::Main(argc, argv); }
