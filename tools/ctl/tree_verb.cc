// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tree: how a version spreads just now.

#include <iostream>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/fetch_plan.h"
#include "tools/ctl/replication_tree.h"
#include "tools/ctl/verbs.h"

namespace tensorhub::ctl {
namespace {

struct TreeArguments {
  ModelArgument model;
  std::optional<VersionOrLatest> version;
  bool dot = false;
};

std::vector<Holder> HoldersOf(const v1::ListReplicasResponse& replicas) {
  std::vector<Holder> holders;
  for (const v1::ReferenceInfo& info : replicas.references()) {
    holders.push_back({info.group(), info.rank(), info.state(), info.valid_chunks(), info.chunks(),
                       info.location()});
  }
  return holders;
}

std::vector<Feed> FeedsOf(const v1::ListTransfersResponse& transfers, const std::string& model,
                          uint64_t version) {
  std::vector<Feed> feeds;
  for (const v1::TransferInfo& info : transfers.transfers()) {
    if (info.model() != model || info.version() != version) continue;
    feeds.push_back({info.reader_group(), info.reader_rank(), info.source_group(),
                     info.source_rank(), info.sources(), info.tier(), info.way()});
  }
  return feeds;
}

void Print(const Globals& globals, const TreeArguments& arguments, uint64_t version,
           const ReplicationTree& tree) {
  const std::string name = absl::StrCat(arguments.model.name, " version ", version);
  if (globals.format() == OutputFormat::kJson) {
    PrintJson({{"model", arguments.model.name}, {"version", version}, {"tree", tree.ToJson()}},
              std::cout);
  } else if (arguments.dot) {
    std::cout << tree.ToDot(name);
  } else if (tree.empty()) {
    std::cout << "Nobody holds " << name << ".\n";
  } else {
    std::cout << name << "\n" << tree.ToText();
  }
}

// The two lists are of two moments; what seems to change in between is left out.
absl::Status ShowTree(const Globals& globals, const TreeArguments& arguments) {
  AdminClient admin(globals.server, globals.connect_timeout);
  const absl::StatusOr<uint64_t> version =
      NumberOf(admin, arguments.model.name, arguments.version.value_or(VersionOrLatest()));
  if (!version.ok()) return version.status();
  const auto transfers = admin.ListTransfers();
  if (!transfers.ok()) return transfers.status();
  v1::ListReplicasRequest request;
  request.set_model(arguments.model.name);
  request.set_version(*version);
  const auto replicas = admin.ListReplicas(request);
  if (!replicas.ok()) return replicas.status();
  const ReplicationTree tree(HoldersOf(*replicas),
                             FeedsOf(*transfers, arguments.model.name, *version));
  Print(globals, arguments, *version, tree);
  return absl::OkStatus();
}

}  // namespace

void AddTreeVerb(Verbs& verbs) {
  auto arguments = std::make_shared<TreeArguments>();
  const auto run = [arguments](const Globals& globals) { return ShowTree(globals, *arguments); };
  cli::Command& command = verbs.Add("tree", "Shows who reads a version from whom.", run);
  command.Argument("MODEL", &arguments->model, "the model");
  command.OptionalArgument("VERSION", &arguments->version, "the version's number, or latest");
  command.Flag("dot", &arguments->dot, "as a graph for Graphviz: pipe it into dot -Tsvg");
  command.Example("tensorhubctl tree qwen3-8b/actor");
  command.Example("tensorhubctl tree qwen3-8b/actor 12 --dot | dot -Tsvg > tree.svg");
}

}  // namespace tensorhub::ctl
