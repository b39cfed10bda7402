// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/completion.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/cli/help.h"

namespace tensorhub::cli {
namespace {

std::string Dashed(const std::vector<std::string>& flags) {
  return absl::StrJoin(flags, " ", [](std::string* out, const std::string& flag) {
    absl::StrAppend(out, "--", flag);
  });
}

// Whether the words begin with the verb. `dynamic`'s first argument is the dynamic one.
bool Begins(const VerbWords& verb, const DynamicWords& dynamic) {
  return !verb.arguments.empty() && verb.arguments.front() == dynamic.argument;
}

std::string ShellQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// A case for each verb: its flags, and whether its first argument is the dynamic one.
std::string BashCases(const std::vector<VerbWords>& verbs, const DynamicWords& dynamic) {
  std::string text;
  for (const VerbWords& verb : verbs) {
    if (verb.name.empty()) continue;
    absl::StrAppend(&text, "    ", verb.name, ") flags=", ShellQuoted(Dashed(verb.flags)),
                    Begins(verb, dynamic) ? " dynamic=1" : "", " ;;\n");
  }
  return text;
}

constexpr char kBash[] = R"sh(@FUNCTION@() {
  local cur=${COMP_WORDS[COMP_CWORD]} verb= flags=@COMMON@ dynamic= i after=0
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ -n $verb && ${COMP_WORDS[i]} != -* ]]; then after=$((after + 1)); fi
    if [[ -z $verb && " @VERBS@ " == *" ${COMP_WORDS[i]} "* ]]; then verb=${COMP_WORDS[i]}; fi
  done
  COMPREPLY=()
  case $verb in
    '') if [[ $cur != -* ]]; then flags='@VERBS@'; fi ;;
@CASES@  esac
  if [[ $cur == -* || -z $verb ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $dynamic && $after == 0 ]]; then
    COMPREPLY=($(compgen -W "$(@WORDS@)" -- "$cur"))
  fi
}
complete -o default -F @FUNCTION@ @PROGRAM@
)sh";

std::string Bash(const CommandLine& line, const std::vector<VerbWords>& verbs,
                 const DynamicWords& dynamic) {
  std::vector<std::string> names;
  for (const VerbWords& verb : verbs) {
    if (!verb.name.empty()) names.push_back(verb.name);
  }
  const std::string function =
      absl::StrCat("_", absl::StrReplaceAll(line.name(), {{"-", "_"}}), "_complete");
  return absl::StrReplaceAll(kBash, {{"@FUNCTION@", function},
                                     {"@PROGRAM@", line.name()},
                                     {"@COMMON@", ShellQuoted(Dashed(verbs.front().flags))},
                                     {"@VERBS@", absl::StrJoin(names, " ")},
                                     {"@CASES@", BashCases(verbs, dynamic)},
                                     {"@WORDS@", dynamic.words}});
}

std::string Fish(const CommandLine& line, const std::vector<VerbWords>& verbs,
                 const DynamicWords& dynamic) {
  std::string text;
  for (const VerbWords& verb : verbs) {
    const std::string command = absl::StrCat("complete -c ", line.name());
    const std::string when =
        verb.name.empty() ? "" : absl::StrCat(" -n '__fish_seen_subcommand_from ", verb.name, "'");
    if (!verb.name.empty()) {
      absl::StrAppend(&text, command, " -n __fish_use_subcommand -a ", verb.name, " -d ",
                      ShellQuoted(verb.summary), "\n");
    }
    for (const std::string& flag : verb.flags) {
      absl::StrAppend(&text, command, when, " -l ", flag, "\n");
    }
    if (Begins(verb, dynamic)) {
      absl::StrAppend(&text, command, when, " -a '(", dynamic.words, ")'\n");
    }
  }
  return text;
}

}  // namespace

std::string CompletionScript(const CommandLine& line, const std::string& shell,
                             const DynamicWords& dynamic) {
  const std::vector<VerbWords> verbs = WordsOf(line);
  if (shell == "fish") return Fish(line, verbs, dynamic);
  const std::string script = Bash(line, verbs, dynamic);
  if (shell == "bash") return script;
  return absl::StrCat("#compdef ", line.name(), "\nautoload -U +X bashcompinit && bashcompinit\n",
                      script);
}

}  // namespace tensorhub::cli
