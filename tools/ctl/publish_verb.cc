// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// publish: serves files as a version, from host memory.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spdlog/spdlog.h"
#include "tensorhub/ros.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/group_publish.h"
#include "tools/ctl/progress_bar.h"
#include "tools/ctl/shard_memory.h"
#include "tools/ctl/signals.h"
#include "tools/ctl/units.h"
#include "tools/ctl/verbs.h"
#include "tools/safetensors/checkpoint.h"

namespace tensorhub::ctl {
namespace {

using safetensors::Checkpoint;

struct PublishArguments {
  ModelArgument model;
  VersionArgument version;
  std::vector<std::string> paths;
  std::optional<std::chrono::milliseconds> duration;
  GroupFlag group;
  LocationFlag location;
  bool wait = false;
  bool supersede = false;
  bool weights_only = false;
  RanksFlag ranks;
};

absl::Status Load(const Checkpoint& checkpoint, std::byte* memory) {
  const uint64_t total = checkpoint.contents().data_bytes();
  ProgressBar bar(StderrOptions("loading", total), std::cerr, ProgressBar::Clock::now());
  return checkpoint.Load(memory, [&](uint64_t done) {
    bar.Update(done, "", ProgressBar::Clock::now());
    return CheckMemoryFor(total - done);  // others may have taken it meanwhile
  });
}

// What travels along beside the weights, by name.
std::vector<std::string> CompanionsOf(const safetensors::Attachment& contents) {
  std::vector<std::string> names;
  for (const safetensors::ExtraFile& file : contents.extras) names.push_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

void WarnOf(const std::vector<std::string>& left_out) {
  if (left_out.empty()) return;
  spdlog::warn("too large to travel with the weights, or oddly named, and so left out: {}",
               cli::OneLine(absl::StrJoin(left_out, ", ")));
}

std::string RowsNote(uint32_t ranks) {
  return ranks > 1 ? absl::StrCat(", by rows on ", ranks, " ranks") : "";
}

void PrintPublished(const Globals& globals, const PublishArguments& arguments,
                    const safetensors::Attachment& contents) {
  if (globals.format() == OutputFormat::kJson) {
    PrintJson({{"model", arguments.model.name},
               {"version", arguments.version.value},
               {"tensors", contents.tensor_count()},
               {"bytes", contents.data_bytes()},
               {"ranks", arguments.ranks.count},
               {"companions", CompanionsOf(contents)}},
              std::cout);
  } else {
    std::cout << "published " << arguments.model.name << " version " << arguments.version.value
              << " (" << contents.tensor_count() << " tensors, "
              << HumanBytes(contents.data_bytes()) << RowsNote(arguments.ranks.count)
              << "); serving "
              << (arguments.duration
                      ? "for " +
                            HumanSeconds(static_cast<double>(arguments.duration->count()) / 1e3)
                      : "until interrupted")
              << '\n';
    const std::vector<std::string> companions = CompanionsOf(contents);
    if (!companions.empty()) std::cout << "with " << absl::StrJoin(companions, ", ") << '\n';
  }
  std::cout.flush();
}

// Until interrupted, or `duration` is over, or nobody can find the version here any more.
absl::Status Serve(const GroupPublish& group, Event& stop,
                   std::optional<std::chrono::milliseconds> duration) {
  constexpr std::chrono::milliseconds kLook(1000);
  std::chrono::milliseconds left = duration.value_or(kLook);
  while (left.count() > 0 && !stop.Wait(std::min(kLook, left))) {
    if (absl::Status status = group.Check(); !status.ok()) return status;
    if (duration) left -= kLook;
  }
  return absl::OkStatus();
}

absl::Status LoadAndPublish(GroupPublish& group, const Checkpoint& checkpoint,
                            const PublishArguments& arguments) {
  absl::Status status = group.Connect();
  if (status.ok()) status = group.Allocate();
  if (status.ok()) status = Load(checkpoint, group.memory());
  if (status.ok()) status = group.Register();
  if (!status.ok()) return status;
  return group.Publish(arguments.version.value,
                       {.wait_for_group = arguments.wait, .supersede = arguments.supersede});
}

absl::Status Publish(const Globals& globals, const PublishArguments& arguments) {
  std::atomic<bool> serving = false;
  Event stop;
  // Before there is anything to serve, and on a second signal, the process just ends: the hub
  // notices the broken session.
  SignalThread signals([&](int signal) {
    if (!serving || stop.raised()) ExitNow(ExitCodeOf(signal));
    stop.Raise();
  });
  const absl::StatusOr<Checkpoint> checkpoint =
      Checkpoint::Open(arguments.paths, {.companions = !arguments.weights_only});
  if (!checkpoint.ok()) return checkpoint.status();
  WarnOf(checkpoint->left_out());
  GroupPublish group(
      {.server = globals.server,
       .model = arguments.model.name,
       .group = arguments.group.name.empty() ? UniqueGroup("ctl-publish") : arguments.group.name,
       .location = arguments.location.text,
       .connect_timeout = globals.connect_timeout,
       .ranks = arguments.ranks.count},
      checkpoint->contents());
  absl::Status status = LoadAndPublish(group, *checkpoint, arguments);
  if (!status.ok()) return status;
  serving = true;
  PrintPublished(globals, arguments, checkpoint->contents());
  status = Serve(group, stop, arguments.duration);
  status.Update(group.Leave());
  return status;
}

}  // namespace

void AddPublishVerb(Verbs& verbs) {
  auto arguments = std::make_shared<PublishArguments>();
  const auto run = [arguments](const Globals& globals) { return Publish(globals, *arguments); };
  cli::Command& command =
      verbs.Add("publish", "Serves files as a version of a model, from host memory.", run);
  command.Argument("MODEL", &arguments->model, "the model");
  command.Argument("VERSION", &arguments->version, "the version's number");
  command.Arguments("PATH", &arguments->paths, "a safetensors file or a Hugging Face directory");
  command.Flag("for", &arguments->duration, "serve this long instead of until interrupted");
  command.Flag("group", &arguments->group, "the group's name instead of one unique to this run");
  command.Flag("location", &arguments->location, "where this host is");
  command.Flag("wait", &arguments->wait, "go on only once the version is visible");
  command.Flag("supersede", &arguments->supersede,
               "begin a new term: what is newer counts no more");
  command.Flag("weights-only", &arguments->weights_only,
               "leave out a directory's configuration, tokenizer and other small files");
  command.Flag("ranks", &arguments->ranks,
               "as a group of so many ranks, each with its part of every tensor's rows");
  command.Example("tensorhubctl publish qwen3-8b/actor 1 ~/models/qwen3-8b");
  command.Example("tensorhubctl publish qwen3-8b/actor 1 ~/models/qwen3-8b --ranks 4");
}

}  // namespace tensorhub::ctl
