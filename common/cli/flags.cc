// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/flags.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/cli/help.h"
#include "common/cli/logging.h"
#include "common/cli/parsing.h"

namespace tensorhub::cli {

void Command::Choice(const std::string& name, std::string* target,
                     const std::vector<std::string>& choices, const std::string& help, char alias) {
  const auto parse = [target, choices](std::string_view text) -> ErrorText {
    const std::string word = absl::AsciiStrToLower(std::string(text));
    if (std::find(choices.begin(), choices.end(), word) == choices.end()) {
      return absl::StrCat("is not one of ", absl::StrJoin(choices, ", "));
    }
    return ParseValue(word, target);
  };
  AddFlag({.name = name,
           .alias = alias,
           .placeholder = absl::StrJoin(choices, "|"),
           .help = help,
           .default_text = *target,
           .parse = parse,
           .reset = [] {}});
}

void Command::AddFlag(FlagSpec flag) {
  TH_CHECK(Find(flag.name) == nullptr);
  TH_CHECK(flag.alias == 0 || FindAlias(flag.alias) == nullptr);
  flags_.push_back(std::move(flag));
}

Command::FlagSpec* Command::Find(std::string_view name) {
  for (FlagSpec& flag : flags_) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

Command::FlagSpec* Command::FindAlias(char alias) {
  for (FlagSpec& flag : flags_) {
    if (flag.alias == alias) return &flag;
  }
  return nullptr;
}

bool Command::IsSet(std::string_view name) const {
  return std::any_of(flags_.begin(), flags_.end(),
                     [&](const FlagSpec& flag) { return flag.name == name && flag.set; });
}

Environment Environment::OfProcess() {
  const auto environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  return {.out = &std::cout, .err = &std::cerr, .environment = environment};
}

CommandLine::CommandLine(std::string name, std::string summary)
    : Command(std::move(name), std::move(summary)) {
  Choice("log-level", &log_.level, LogLevels(), "log from this level on, to standard error");
  Choice("log-format", &log_.format, {"text", "json"}, "one line or one JSON object per record");
  Flag("config", &config_, "read flags from this file, as lines \"flag = value\"",
       {.placeholder = "FILE"});
}

Command& CommandLine::AddCommand(const std::string& verb, const std::string& summary) {
  commands_.push_back(std::make_unique<Command>(verb, summary));
  return *commands_.back();
}

void CommandLine::DefaultLogLevel(const std::string& level) {
  log_.level = level;
  Find("log-level")->default_text = level;
}

std::optional<int> CommandLine::Parse(int argc, const char* const* argv) {
  return Parse(std::vector<std::string>(argv + std::min(argc, 1), argv + argc),
               Environment::OfProcess());
}

std::optional<int> CommandLine::Parse(const std::vector<std::string>& arguments,
                                      const Environment& environment) {
  Parsing parsing(*this, environment);
  ErrorText problem = parsing.Run(arguments);
  if (parsing.answered()) {
    *environment.out << std::flush;
    return 0;
  }
  if (!problem) return std::nullopt;
  *environment.err << name() << ": " << OneLine(*problem) << std::endl;
  return 2;
}

int Fail(const std::string& name, const std::string& message, int exit_code) {
  std::cerr << name << ": " << OneLine(message) << std::endl;
  return exit_code;
}

}  // namespace tensorhub::cli
