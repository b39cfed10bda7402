// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A verb of tensorhubctl: its flags and arguments, and what it does. One file per group of verbs;
// each adds its own.

#ifndef TENSORHUB_TOOLS_CTL_VERBS_H_
#define TENSORHUB_TOOLS_CTL_VERBS_H_

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "common/cli/flags.h"
#include "tools/ctl/table.h"

namespace tensorhub::ctl {

// The flags before or after any verb.
struct Globals {
  std::string server = "localhost:7070";
  std::string output = "table";
  std::chrono::milliseconds connect_timeout{5000};

  OutputFormat format() const {
    return output == "json" ? OutputFormat::kJson : OutputFormat::kTable;
  }
};

// An error ends the program with exit code 1 and its message as the one line on standard error.
using Run = std::function<absl::Status(const Globals&)>;

class Verbs {
 public:
  explicit Verbs(cli::CommandLine& line) : line_(line) {}

  // `run` owns what the verb's flags and arguments are parsed into.
  cli::Command& Add(const std::string& verb, const std::string& summary, Run run) {
    runs_[verb] = std::move(run);
    return line_.AddCommand(verb, summary);
  }
  const cli::CommandLine& line() const { return line_; }
  absl::Status Execute(const std::string& verb, const Globals& globals) const {
    return runs_.at(verb)(globals);
  }

 private:
  cli::CommandLine& line_;
  std::map<std::string, Run> runs_;
};

void AddListVerbs(Verbs& verbs);    // models, versions, replicas, workers
void AddStatusVerbs(Verbs& verbs);  // transfers, status
void AddTreeVerb(Verbs& verbs);
void AddExplainVerb(Verbs& verbs);
void AddTraceVerb(Verbs& verbs);
void AddTopVerb(Verbs& verbs);
void AddWatchVerb(Verbs& verbs);
void AddPublishVerb(Verbs& verbs);
void AddFetchVerb(Verbs& verbs);
void AddRetentionVerbs(Verbs& verbs);  // retain, pin, unpin, supersede
void AddDrainVerb(Verbs& verbs);
void AddDoctorVerb(Verbs& verbs);
void AddCompletionVerb(Verbs& verbs);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_VERBS_H_
