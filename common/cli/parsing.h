// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One run over a command line, an environment and a file. Private to common/cli.

#ifndef TENSORHUB_COMMON_CLI_PARSING_H_
#define TENSORHUB_COMMON_CLI_PARSING_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/cli/flags.h"

namespace tensorhub::cli {

class Parsing {
 public:
  Parsing(CommandLine& line, const Environment& environment)
      : line_(line), environment_(environment) {}

  ErrorText Run(const std::vector<std::string>& arguments);
  // --help or --version was asked for and printed.
  bool answered() const { return answered_; }

 private:
  using FlagSpec = Command::FlagSpec;

  // The command line: flags keep what they were given, the rest goes to `words_`.
  ErrorText ReadArguments();
  ErrorText ReadLongFlag(std::string_view text);
  ErrorText ReadShortFlag(std::string_view text);
  ErrorText TakeValue(FlagSpec& flag, const std::string& spelling);
  ErrorText ReadWord(const std::string& word);
  ErrorText Answer(const std::string& text);
  ErrorText UnknownFlag(std::string_view spelling) const;
  FlagSpec* Find(std::string_view name);
  FlagSpec* FindAlias(char alias);
  template <typename Visit>
  ErrorText ForEachFlag(Visit visit);

  // The values come next, by precedence.
  ErrorText ApplyGiven(FlagSpec& flag);
  ErrorText ApplyEnvironment(FlagSpec& flag);
  ErrorText ApplyFile();
  ErrorText ApplyLine(const std::string& text, const std::string& where,
                      std::vector<const FlagSpec*>& from_file);
  ErrorText ApplyWords();
  ErrorText ApplyWord(const Command::ArgumentSpec& argument, size_t index);
  bool KnownToAnyVerb(std::string_view name) const;

  CommandLine& line_;
  const Environment& environment_;
  Command* verb_ = nullptr;
  std::vector<std::string> arguments_;
  size_t next_ = 0;
  std::vector<std::string> words_;
  bool answered_ = false;
};

}  // namespace tensorhub::cli

#endif  // TENSORHUB_COMMON_CLI_PARSING_H_
