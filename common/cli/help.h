// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What --help prints, the hints in error messages, and what there is to complete. Private to
// common/cli.

#ifndef TENSORHUB_COMMON_CLI_HELP_H_
#define TENSORHUB_COMMON_CLI_HELP_H_

#include <string>
#include <vector>

#include "common/cli/flags.h"

namespace tensorhub::cli {

// `verb` may be null: the whole program's.
std::string HelpText(const CommandLine& line, const Command* verb);
// "tensorhubctl tree [FLAGS] MODEL VERSION"
std::string UsageLine(const CommandLine& line, const Command* verb);
// "models, tree, status"
std::string VerbsOf(const CommandLine& line);
// A known flag that was probably meant, with its dashes; empty if none is near.
std::string NearestFlag(const CommandLine& line, const Command* verb, const std::string& spelling);

// The words of one verb, or, without a name, of the program before any. Flags without dashes.
struct VerbWords {
  std::string name;
  std::string summary;
  std::vector<std::string> flags;
  std::vector<std::string> arguments;
};
// The program's first.
std::vector<VerbWords> WordsOf(const CommandLine& line);

}  // namespace tensorhub::cli

#endif  // TENSORHUB_COMMON_CLI_HELP_H_
