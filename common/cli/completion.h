// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a shell completes of a program with verbs, as a script for that shell.

#ifndef TENSORHUB_COMMON_CLI_COMPLETION_H_
#define TENSORHUB_COMMON_CLI_COMPLETION_H_

#include <string>
#include <vector>

#include "common/cli/flags.h"

namespace tensorhub::cli {

// The shells that CompletionScript knows.
inline const std::vector<std::string> kShells = {"bash", "zsh", "fish"};

// Verbs and flags, and files. An argument `dynamic` is completed by what `words` prints, a command
// line whose output is one word per line.
struct DynamicWords {
  std::string argument;
  std::string words;
};
std::string CompletionScript(const CommandLine& line, const std::string& shell,
                             const DynamicWords& dynamic);

}  // namespace tensorhub::cli

#endif  // TENSORHUB_COMMON_CLI_COMPLETION_H_
