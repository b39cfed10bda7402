// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub-demo: the processes of tools/demo.sh, one verb each.

#include <optional>
#include <string>

#include "common/cli/flags.h"
#include "common/cli/program.h"
#include "tools/demo/model_maker.h"
#include "tools/demo/roles.h"

namespace tensorhub::demo {
namespace {

constexpr int kUsage = 2;

struct Flags {
  Setting setting;
  uint32_t rank = 0;
  uint32_t group = 1;
  std::string path;
  uint32_t layers = 14;
  uint64_t seed = 1;
};

void AddSetting(cli::Command& command, Flags& flags) {
  Setting& setting = flags.setting;
  command.Flag("checkpoint", &setting.checkpoint, "a safetensors file or a directory of them",
               {.placeholder = "PATH"});
  command.Flag("dir", &setting.directory, "where the processes leave notes for one another",
               {.placeholder = "DIR"});
  command.Flag("server", &setting.server, "the hub; where it has several servers, all of them",
               {.placeholder = "HOST:PORT,..."});
  command.Flag("model", &setting.model, "the model's name");
  command.Flag("ranks", &setting.ranks, "ranks of each group");
  command.Flag("rollouts", &setting.rollouts, "rollout groups");
  command.Flag("versions", &setting.versions, "versions to go through");
  command.Flag("timeout", &setting.timeout, "how long anything may take");
}

void AddVerbs(cli::CommandLine& line, Flags& flags) {
  cli::Command& trainer = line.AddCommand("trainer", "Publishes version after version.");
  AddSetting(trainer, flags);
  trainer.Flag("rank", &flags.rank, "this process' rank");
  cli::Command& rollout = line.AddCommand("rollout", "Fetches every version and checks it.");
  AddSetting(rollout, flags);
  rollout.Flag("rank", &flags.rank, "this process' rank");
  rollout.Flag("group", &flags.group, "the number of this process' rollout group, from 1");
  AddSetting(line.AddCommand("report", "Shows the others' fetches and sums up."), flags);
  cli::Command& maker = line.AddCommand("make-model", "Writes a model of random bytes.");
  maker.Argument("PATH", &flags.path, "the safetensors file to write");
  maker.Flag("layers", &flags.layers, "layers, of about 20 MB each");
  maker.Flag("seed", &flags.seed, "equal seeds make equal files");
}

// What is wrong with the flags of the roles, or nothing.
cli::ErrorText FlagsProblem(const Flags& flags) {
  const Setting& setting = flags.setting;
  if (setting.checkpoint.empty()) return "--checkpoint is missing";
  if (setting.directory.empty()) return "--dir is missing";
  if (setting.ranks == 0 || setting.rollouts == 0 || setting.versions == 0) {
    return "--ranks, --rollouts and --versions are at least 1";
  }
  if (flags.rank >= setting.ranks) return "--rank has to be below --ranks";
  if (flags.group == 0 || flags.group > setting.rollouts) {
    return "--group has to be between 1 and --rollouts";
  }
  return std::nullopt;
}

absl::Status Run(const std::string& verb, const Flags& flags) {
  if (verb == "make-model") return MakeModel(flags.path, flags.layers, flags.seed);
  if (verb == "trainer") return RunTrainer(flags.setting, flags.rank);
  if (verb == "rollout") return RunRollout(flags.setting, flags.group, flags.rank);
  return RunReport(flags.setting);
}

cli::ErrorText ProblemOf(const std::string& verb, const Flags& flags) {
  if (verb != "make-model") return FlagsProblem(flags);
  if (flags.layers >= 1 && flags.layers <= kLayersMax) return std::nullopt;
  return "--layers has to be between 1 and " + std::to_string(kLayersMax);
}

int Main(int argc, char** argv) {
  cli::StartProgram();
  Flags flags;
  cli::CommandLine line("tensorhub-demo", "The processes of the demonstration.");
  AddVerbs(line, flags);
  if (std::optional<int> exit_code = line.Parse(argc, argv)) return *exit_code;
  if (auto problem = ProblemOf(line.verb(), flags)) return cli::Fail(line.name(), *problem, kUsage);
  cli::InitLogging(line.name(), line.log());
  const absl::Status status = Run(line.verb(), flags);
  if (status.ok()) return 0;
  return cli::Fail(line.name() + " " + line.verb(), std::string(status.message()), 1);
}

}  // namespace
}  // namespace tensorhub::demo

int main(int argc, char** argv) { return tensorhub::demo::Main(argc, argv); }
