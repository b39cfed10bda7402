// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/help.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tensorhub::cli {

// Friend of Command and CommandLine: reads what was declared.
class Help {
 public:
  static std::string Text(const CommandLine& line, const Command* verb) {
    const Command& shown = verb == nullptr ? line : *verb;
    std::string text = absl::StrCat(Name(line, verb), ": ", shown.summary(),
                                    "\n\nUsage: ", Usage(line, verb), "\n");
    if (verb == nullptr) AppendSection(text, "Verbs", VerbRows(line));
    AppendSection(text, "Arguments", ArgumentRows(shown));
    if (verb != nullptr) AppendSection(text, "Flags", FlagRows(*verb));
    AppendSection(text, verb == nullptr ? "Flags" : "Flags of every verb", CommonRows(line));
    AppendExamples(text, shown);
    absl::StrAppend(&text,
                    "\nA flag may also come from the environment (TENSORHUB_LOG_LEVEL for "
                    "--log-level)\nor from the file that --config names; the command line wins, "
                    "then the environment.\n");
    return text;
  }

  static std::string Usage(const CommandLine& line, const Command* verb) {
    std::string usage = absl::StrCat(Name(line, verb), " [FLAGS]");
    if (verb == nullptr && !line.commands_.empty()) return usage + " VERB [ARGUMENTS]";
    for (const auto& argument : (verb == nullptr ? line : *verb).arguments_) {
      absl::StrAppend(&usage, " ", Shown(argument));
    }
    return usage;
  }

  static std::vector<std::string> Verbs(const CommandLine& line) {
    std::vector<std::string> names;
    for (const auto& command : line.commands_) names.push_back(command->name());
    return names;
  }

  static std::vector<std::string> Flags(const CommandLine& line, const Command* verb) {
    std::vector<std::string> names = {"help", "version"};
    for (const auto& flag : line.flags_) names.push_back(flag.name);
    if (verb == nullptr) return names;
    for (const auto& flag : verb->flags_) names.push_back(flag.name);
    return names;
  }

  static std::vector<VerbWords> Words(const CommandLine& line) {
    std::vector<VerbWords> words = {{"", line.summary(), Flags(line, nullptr), {}}};
    for (const auto& command : line.commands_) {
      VerbWords& verb = words.emplace_back(
          VerbWords{command->name(), command->summary(), Flags(line, command.get()), {}});
      for (const auto& argument : command->arguments_) verb.arguments.push_back(argument.name);
    }
    return words;
  }

 private:
  struct Row {
    std::string left;
    std::string right;
  };
  static constexpr size_t kWidth = 96;
  static constexpr size_t kLeftMax = 34;

  static std::string Name(const CommandLine& line, const Command* verb) {
    return verb == nullptr ? line.name() : absl::StrCat(line.name(), " ", verb->name());
  }

  static std::string Shown(const Command::ArgumentSpec& argument) {
    const std::string name = absl::StrCat(argument.name, argument.kind.repeated ? "..." : "");
    return argument.kind.required ? name : absl::StrCat("[", name, "]");
  }

  static std::vector<Row> VerbRows(const CommandLine& line) {
    std::vector<Row> rows;
    for (const auto& command : line.commands_)
      rows.push_back({command->name(), command->summary()});
    return rows;
  }

  static std::vector<Row> ArgumentRows(const Command& command) {
    std::vector<Row> rows;
    for (const auto& argument : command.arguments_) rows.push_back({argument.name, argument.help});
    return rows;
  }

  static std::vector<Row> FlagRows(const Command& command) {
    std::vector<Row> rows;
    for (const auto& flag : command.flags_) rows.push_back(FlagRow(flag));
    return rows;
  }

  // The program's own flags before the built-in ones, which were declared first.
  static std::vector<Row> CommonRows(const CommandLine& line) {
    std::vector<Row> rows = FlagRows(line);
    std::rotate(rows.begin(), rows.begin() + 3, rows.end());
    rows.push_back({"-h, --help", "print this and exit"});
    rows.push_back({"    --version", "print the version and exit"});
    return rows;
  }

  static Row FlagRow(const Command::FlagSpec& flag) {
    std::string left =
        flag.alias == 0 ? "    " : absl::StrCat("-", std::string(1, flag.alias), ", ");
    absl::StrAppend(&left, "--", flag.name, flag.is_switch ? "" : " ", flag.placeholder);
    std::string right = flag.help;
    if (flag.is_list) absl::StrAppend(&right, "; may be repeated");
    if (!flag.default_text.empty()) absl::StrAppend(&right, " (default ", flag.default_text, ")");
    return {left, right};
  }

  static void AppendSection(std::string& text, const char* title, const std::vector<Row>& rows) {
    if (rows.empty()) return;
    size_t left = 0;
    for (const Row& row : rows) {
      if (row.left.size() <= kLeftMax) left = std::max(left, row.left.size());
    }
    absl::StrAppend(&text, "\n", title, ":\n");
    for (const Row& row : rows) AppendRow(text, row, left);
  }

  // A left part that is too long gets a line of its own.
  static void AppendRow(std::string& text, const Row& row, size_t left) {
    const std::string indent(left + 4, ' ');
    std::string current = absl::StrCat("  ", row.left);
    if (current.size() + 2 > indent.size()) {
      absl::StrAppend(&text, current, "\n");
      current.clear();
    }
    current.resize(indent.size(), ' ');
    for (const std::string& word : std::vector<std::string>(absl::StrSplit(row.right, ' '))) {
      if (current.size() + word.size() > kWidth && current.size() > indent.size()) {
        AppendLine(text, current);
        current = indent;
      }
      absl::StrAppend(&current, word, " ");
    }
    AppendLine(text, current);
  }

  static void AppendLine(std::string& text, const std::string& line) {
    absl::StrAppend(&text, line.substr(0, line.find_last_not_of(' ') + 1), "\n");
  }

  static void AppendExamples(std::string& text, const Command& command) {
    if (command.examples_.empty()) return;
    absl::StrAppend(&text, "\nExamples:\n");
    for (const std::string& example : command.examples_)
      absl::StrAppend(&text, "  ", example, "\n");
  }
};

namespace {

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string HelpText(const CommandLine& line, const Command* verb) {
  return Help::Text(line, verb);
}

std::string UsageLine(const CommandLine& line, const Command* verb) {
  return Help::Usage(line, verb);
}

std::string VerbsOf(const CommandLine& line) { return absl::StrJoin(Help::Verbs(line), ", "); }

std::string NearestFlag(const CommandLine& line, const Command* verb, const std::string& spelling) {
  constexpr size_t kNear = 2;
  std::string best;
  size_t best_distance = kNear + 1;
  for (const std::string& name : Help::Flags(line, verb)) {
    const size_t distance = EditDistance(spelling, "--" + name);
    if (distance >= best_distance || spelling.size() <= 4) continue;
    best = "--" + name;
    best_distance = distance;
  }
  return best;
}

std::vector<VerbWords> WordsOf(const CommandLine& line) { return Help::Words(line); }

}  // namespace tensorhub::cli
