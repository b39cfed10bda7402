// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The command line that all our binaries share. A flag's value comes from, first found first: the
// command line, the environment (TENSORHUB_LOG_LEVEL for --log-level; an empty variable counts as
// unset; lists are comma separated), the file that --config names (`flag = value` lines, `#`
// comments), its default, which is what the target holds when it is declared.
//
//   std::string listen = "0.0.0.0:7070";
//   std::chrono::milliseconds lease = std::chrono::seconds(5);
//   cli::CommandLine line("tensorhub-server", "The hub: knows who holds which version.");
//   line.Flag("listen", &listen, "where workers reach the hub", {.placeholder = "HOST:PORT"});
//   line.Flag("lease", &lease, "how long a silent worker counts as alive");
//   if (std::optional<int> exit_code = line.Parse(argc, argv)) return *exit_code;
//   cli::InitLogging(line.name(), line.log());
//
// With verbs (`tensorhubctl [FLAGS] VERB [ARGS]`; the program's own flags go before or after it):
//
//   cli::Command& tree = line.AddCommand("tree", "Shows who fed whom.");
//   tree.Argument("MODEL", &model, "the model");
//   ... after Parse: line.verb() == "tree"
//
// Built in: --help, --version, --config, --log-level, --log-format.
// Thread contract: none; one thread. Targets outlive the CommandLine.

#ifndef TENSORHUB_COMMON_CLI_FLAGS_H_
#define TENSORHUB_COMMON_CLI_FLAGS_H_

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/cli/logging.h"
#include "common/cli/values.h"

namespace tensorhub::cli {

using Parser = std::function<ErrorText(std::string_view)>;

struct FlagHints {
  char alias = 0;                // 'o': -o as well
  std::string placeholder = {};  // "HOST:PORT"; empty: by type
};

// One verb's flags and arguments, or the program's own. Types of targets: std::string, bool, any
// integer, double, std::chrono::milliseconds ("5s"), Bytes ("64MiB"), std::vector<std::string>
// (the flag may be repeated), and std::optional of these (no default).
class Command {
 public:
  Command(std::string name, std::string summary)
      : name_(std::move(name)), summary_(std::move(summary)) {}
  virtual ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // `help` is one phrase, lower case, without a full stop; the default is appended.
  template <typename T>
  void Flag(const std::string& name, T* target, const std::string& help,
            const FlagHints& hints = {}) {
    AddFlag({.name = name,
             .alias = hints.alias,
             .placeholder = hints.placeholder.empty() ? Placeholder(target) : hints.placeholder,
             .help = help,
             .default_text = FormatValue(*target),
             .is_switch = std::is_same_v<T, bool>,
             .is_list = std::is_same_v<T, std::vector<std::string>>,
             .parse = [target](std::string_view text) { return ParseValue(text, target); },
             .reset = [target] { *target = T(); }});
  }
  // One of a few words, in small letters here, and in any on the command line.
  void Choice(const std::string& name, std::string* target, const std::vector<std::string>& choices,
              const std::string& help, char alias = 0);

  // Arguments without a dash, in the order of these calls; optional ones last.
  template <typename T>
  void Argument(const std::string& name, T* target, const std::string& help) {
    AddArgument(name, target, help, {.required = true});
  }
  template <typename T>
  void OptionalArgument(const std::string& name, T* target, const std::string& help) {
    AddArgument(name, target, help, {});
  }
  // One or more; takes all that are left.
  void Arguments(const std::string& name, std::vector<std::string>* target,
                 const std::string& help) {
    AddArgument(name, target, help, {.required = true, .repeated = true});
  }
  // None or more; takes all that are left.
  void OptionalArguments(const std::string& name, std::vector<std::string>* target,
                         const std::string& help) {
    AddArgument(name, target, help, {.repeated = true});
  }
  // Shown at the end of the help, as it is; one per line.
  void Example(const std::string& text) { examples_.push_back(text); }

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  // Whether the command line, the environment or the file said something about it.
  bool IsSet(std::string_view flag) const;

 private:
  friend class Help;
  friend class Parsing;
  friend class CommandLine;

  struct FlagSpec {
    std::string name;
    char alias = 0;
    std::string placeholder;
    std::string help;
    std::string default_text;
    bool is_switch = false;
    bool is_list = false;
    Parser parse;
    std::function<void()> reset;
    bool set = false;                     // to something else than the default
    std::vector<std::string> given = {};  // on the command line
  };
  struct ArgumentKind {
    bool required = false;
    bool repeated = false;
  };
  struct ArgumentSpec {
    std::string name;
    std::string help;
    ArgumentKind kind;
    Parser parse;
  };

  void AddFlag(FlagSpec flag);
  template <typename T>
  void AddArgument(const std::string& name, T* target, const std::string& help, ArgumentKind kind) {
    arguments_.push_back(
        {name, help, kind, [target](std::string_view text) { return ParseValue(text, target); }});
  }
  FlagSpec* Find(std::string_view name);
  FlagSpec* FindAlias(char alias);

  const std::string name_;
  const std::string summary_;
  std::vector<FlagSpec> flags_;
  std::vector<ArgumentSpec> arguments_;
  std::vector<std::string> examples_;
};

// Where results, errors and environment variables come from and go to; tests bring their own.
struct Environment {
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  std::function<std::optional<std::string>(const std::string& name)> environment;
  static Environment OfProcess();
};

class CommandLine : public Command {
 public:
  CommandLine(std::string name, std::string summary);

  // The reference stays good. A program with verbs needs one on its command line.
  Command& AddCommand(const std::string& verb, const std::string& summary);
  // Before Parse. Tools log from "warn", daemons from "info".
  void DefaultLogLevel(const std::string& level);

  // The exit code, if the program is to end now: 0 after --help or --version, 2 after an error,
  // of which one line was printed.
  std::optional<int> Parse(int argc, const char* const* argv);
  std::optional<int> Parse(const std::vector<std::string>& arguments,
                           const Environment& environment);

  // Empty without verbs.
  const std::string& verb() const { return verb_; }
  const LogOptions& log() const { return log_; }

 private:
  friend class Help;
  friend class Parsing;

  std::vector<std::unique_ptr<Command>> commands_;
  std::string verb_;
  LogOptions log_;
  std::string config_;
};

// For errors found after parsing: prints "NAME: message" on standard error; returns `exit_code`.
int Fail(const std::string& name, const std::string& message, int exit_code);

}  // namespace tensorhub::cli

#endif  // TENSORHUB_COMMON_CLI_FLAGS_H_
