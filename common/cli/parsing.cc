// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/parsing.h"

#include <algorithm>
#include <fstream>
#include <ostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/cli/help.h"

namespace tensorhub::cli {
namespace {

std::string Quoted(std::string_view text) { return absl::StrCat("\"", std::string(text), "\""); }

std::string VariableOf(const std::string& flag) {
  std::string name = absl::StrCat("TENSORHUB_", absl::AsciiStrToUpper(flag));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string WithoutComment(const std::string& line) {
  for (size_t i = 0; i < line.size(); ++i) {
    const bool starts_word = i == 0 || absl::ascii_isspace(static_cast<unsigned char>(line[i - 1]));
    if (line[i] == '#' && starts_word) return line.substr(0, i);
  }
  return line;
}

}  // namespace

ErrorText Parsing::Run(const std::vector<std::string>& arguments) {
  arguments_ = arguments;
  if (ErrorText problem = ReadArguments()) return problem;
  if (answered_) return std::nullopt;
  if (!line_.commands_.empty() && verb_ == nullptr) {
    return absl::StrCat("what to do is missing: give one of ", VerbsOf(line_));
  }
  if (ErrorText problem = ForEachFlag([&](FlagSpec& flag) { return ApplyGiven(flag); })) {
    return problem;
  }
  if (ErrorText problem = ForEachFlag([&](FlagSpec& flag) { return ApplyEnvironment(flag); })) {
    return problem;
  }
  if (ErrorText problem = ApplyFile()) return problem;
  return ApplyWords();
}

ErrorText Parsing::ReadArguments() {
  bool flags_ended = false;
  while (next_ < arguments_.size() && !answered_) {
    const std::string text = arguments_[next_++];
    ErrorText problem;
    if (!flags_ended && text == "--") {
      flags_ended = true;
    } else if (!flags_ended && text.starts_with("--")) {
      problem = ReadLongFlag(std::string_view(text).substr(2));
    } else if (!flags_ended && text.size() > 1 && text[0] == '-') {
      problem = ReadShortFlag(text);
    } else {
      problem = ReadWord(text);
    }
    if (problem) return problem;
  }
  return std::nullopt;
}

ErrorText Parsing::ReadLongFlag(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const std::string spelling = "--" + name;
  if (text == "help") return Answer(HelpText(line_, verb_));
  if (text == "version") return Answer(absl::StrCat(line_.name(), " ", TENSORHUB_VERSION, "\n"));
  FlagSpec* flag = Find(name);
  if (flag == nullptr) return UnknownFlag(spelling);
  if (equals == std::string_view::npos) return TakeValue(*flag, spelling);
  flag->given.emplace_back(text.substr(equals + 1));
  return std::nullopt;
}

ErrorText Parsing::ReadShortFlag(std::string_view text) {
  if (text == "-h") return Answer(HelpText(line_, verb_));
  FlagSpec* flag = FindAlias(text[1]);
  if (flag == nullptr) return UnknownFlag(text);
  if (text.size() == 2) return TakeValue(*flag, std::string(text));
  if (flag->is_switch) return UnknownFlag(text);
  flag->given.emplace_back(text.substr(text[2] == '=' ? 3 : 2));  // -ojson, -o=json
  return std::nullopt;
}

ErrorText Parsing::TakeValue(FlagSpec& flag, const std::string& spelling) {
  if (flag.is_switch) {
    flag.given.push_back("true");
    return std::nullopt;
  }
  if (next_ == arguments_.size() || arguments_[next_].starts_with("--")) {
    return absl::StrCat(spelling, " needs a value: ", spelling, " ", flag.placeholder);
  }
  flag.given.push_back(arguments_[next_++]);
  return std::nullopt;
}

ErrorText Parsing::ReadWord(const std::string& word) {
  if (line_.commands_.empty() || verb_ != nullptr) {
    words_.push_back(word);
    return std::nullopt;
  }
  for (const auto& command : line_.commands_) {
    if (command->name() == word) verb_ = command.get();
  }
  if (verb_ == nullptr) {
    return absl::StrCat(Quoted(word), " is unknown: give one of ", VerbsOf(line_));
  }
  line_.verb_ = word;
  return std::nullopt;
}

ErrorText Parsing::Answer(const std::string& text) {
  *environment_.out << text;
  answered_ = true;
  return std::nullopt;
}

ErrorText Parsing::UnknownFlag(std::string_view spelling) const {
  const std::string shown(spelling);
  const std::string help = absl::StrCat(
      line_.name(), verb_ == nullptr ? "" : absl::StrCat(" ", verb_->name()), " --help");
  if (shown.starts_with("--") && KnownToAnyVerb(spelling.substr(2)) && verb_ == nullptr) {
    return absl::StrCat(shown, " belongs to a verb: put it after the verb");
  }
  const std::string near = NearestFlag(line_, verb_, shown);
  if (!near.empty()) return absl::StrCat("unknown flag ", shown, ": did you mean ", near, "?");
  return absl::StrCat("unknown flag ", shown, ": see ", help);
}

bool Parsing::KnownToAnyVerb(std::string_view name) const {
  return std::any_of(line_.commands_.begin(), line_.commands_.end(),
                     [&](const auto& command) { return command->Find(name) != nullptr; });
}

Command::FlagSpec* Parsing::Find(std::string_view name) {
  FlagSpec* flag = verb_ == nullptr ? nullptr : verb_->Find(name);
  return flag != nullptr ? flag : line_.Find(name);
}

Command::FlagSpec* Parsing::FindAlias(char alias) {
  FlagSpec* flag = verb_ == nullptr ? nullptr : verb_->FindAlias(alias);
  return flag != nullptr ? flag : line_.FindAlias(alias);
}

template <typename Visit>
ErrorText Parsing::ForEachFlag(Visit visit) {
  for (Command* command : {static_cast<Command*>(&line_), verb_}) {
    if (command == nullptr) continue;
    for (FlagSpec& flag : command->flags_) {
      if (ErrorText problem = visit(flag)) return problem;
    }
  }
  return std::nullopt;
}

ErrorText Parsing::ApplyGiven(FlagSpec& flag) {
  if (flag.given.size() > 1 && !flag.is_list && !flag.is_switch) {
    return absl::StrCat("--", flag.name, " is given twice: give it once");
  }
  if (!flag.given.empty()) flag.reset();
  for (const std::string& value : flag.given) {
    if (ErrorText problem = flag.parse(value)) {
      return absl::StrCat("--", flag.name, ": ", Quoted(value), " ", *problem);
    }
    flag.set = true;
  }
  return std::nullopt;
}

ErrorText Parsing::ApplyEnvironment(FlagSpec& flag) {
  const std::string variable = VariableOf(flag.name);
  const std::string value = environment_.environment(variable).value_or("");
  if (flag.set || value.empty()) return std::nullopt;
  flag.reset();
  flag.set = true;
  std::vector<std::string> parts = {value};
  if (flag.is_list) parts = absl::StrSplit(value, ',');
  for (const std::string& part : parts) {
    if (ErrorText problem = flag.parse(part)) {
      return absl::StrCat(variable, " (environment): ", Quoted(part), " ", *problem);
    }
  }
  return std::nullopt;
}

ErrorText Parsing::ApplyFile() {
  if (line_.config_.empty()) return std::nullopt;
  const std::string unreadable =
      absl::StrCat("--config: ", Quoted(line_.config_), " cannot be read: name a readable file");
  std::ifstream file(line_.config_);
  if (!file.is_open()) return unreadable;
  std::vector<const FlagSpec*> from_file;
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    const std::string where = absl::StrCat(line_.config_, ":", number, ": ");
    if (ErrorText problem = ApplyLine(text, where, from_file)) return problem;
  }
  if (file.bad()) return unreadable;  // a directory, say
  return std::nullopt;
}

ErrorText Parsing::ApplyLine(const std::string& text, const std::string& where,
                             std::vector<const FlagSpec*>& from_file) {
  const std::string content(absl::StripAsciiWhitespace(WithoutComment(text)));
  if (content.empty()) return std::nullopt;
  const size_t equals = content.find('=');
  if (equals == std::string::npos) return where + "no \"=\": write flag = value";
  const std::string name(absl::StripAsciiWhitespace(content.substr(0, equals)));
  const std::string value(absl::StripAsciiWhitespace(content.substr(equals + 1)));
  FlagSpec* flag = Find(name);
  if (flag == nullptr && KnownToAnyVerb(name)) return std::nullopt;  // another verb's business
  if (flag == nullptr || name == "config") {
    return absl::StrCat(where, "unknown flag ", Quoted(name), ": see ", line_.name(), " --help");
  }
  const bool repeated = std::count(from_file.begin(), from_file.end(), flag) > 0;
  if (repeated && !flag->is_list) return absl::StrCat(where, name, " is given twice");
  if (flag->set && !repeated) return std::nullopt;  // said with more authority
  if (!repeated) flag->reset();
  flag->set = true;
  from_file.push_back(flag);
  if (ErrorText problem = flag->parse(value)) {
    return absl::StrCat(where, name, ": ", Quoted(value), " ", *problem);
  }
  return std::nullopt;
}

ErrorText Parsing::ApplyWords() {
  Command& command = verb_ == nullptr ? line_ : *verb_;
  size_t next = 0;
  for (const Command::ArgumentSpec& argument : command.arguments_) {
    if (next == words_.size() && argument.kind.required) {
      return absl::StrCat(argument.name, " is missing: ", UsageLine(line_, verb_));
    }
    const size_t end = argument.kind.repeated ? words_.size() : std::min(next + 1, words_.size());
    for (; next < end; ++next) {
      if (ErrorText problem = ApplyWord(argument, next)) return problem;
    }
  }
  if (next == words_.size()) return std::nullopt;
  return absl::StrCat(Quoted(words_[next]), " is one argument too many: ", UsageLine(line_, verb_));
}

ErrorText Parsing::ApplyWord(const Command::ArgumentSpec& argument, size_t index) {
  ErrorText problem = argument.parse(words_[index]);
  if (!problem) return std::nullopt;
  return absl::StrCat(argument.name, ": ", Quoted(words_[index]), " ", *problem);
}

}  // namespace tensorhub::cli
