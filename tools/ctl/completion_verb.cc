// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// completion: for the shell.

#include <iostream>
#include <memory>

#include "absl/strings/str_join.h"
#include "common/cli/completion.h"
#include "tools/ctl/verbs.h"

namespace tensorhub::ctl {
namespace {

// A shell waits for it after each key.
constexpr char kModels[] =
    "tensorhubctl models --connect-timeout 300ms 2>/dev/null | awk 'NR > 1 { print $1 }'";

struct Shell {
  std::string name;
};
[[maybe_unused]] cli::ErrorText ParseValue(std::string_view text, Shell* out) {
  for (const std::string& shell : cli::kShells) {
    if (text == shell) out->name = shell;
  }
  if (!out->name.empty()) return std::nullopt;
  return "is none of " + absl::StrJoin(cli::kShells, ", ");
}

}  // namespace

void AddCompletionVerb(Verbs& verbs) {
  auto shell = std::make_shared<Shell>();
  const cli::CommandLine& line = verbs.line();
  const auto run = [shell, &line](const Globals& /*globals*/) {
    std::cout << cli::CompletionScript(line, shell->name, {"MODEL", kModels});
    return absl::OkStatus();
  };
  cli::Command& command =
      verbs.Add("completion", "Prints what completes this program's words in a shell.", run);
  command.Argument("SHELL", shell.get(), "bash, zsh or fish");
  command.Example("source <(tensorhubctl completion bash)");
  command.Example("tensorhubctl completion fish > ~/.config/fish/completions/tensorhubctl.fish");
}

}  // namespace tensorhub::ctl
