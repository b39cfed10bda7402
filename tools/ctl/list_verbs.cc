// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// models, versions, replicas, workers: what the hub lists.

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/ids.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/units.h"
#include "tools/ctl/verbs.h"

namespace tensorhub::ctl {
namespace {

using nlohmann::ordered_json;

template <typename Repeated>
Cell IdListCell(const Repeated& list) {
  ordered_json ids = ordered_json::array();
  for (const std::string& bytes : list) ids.push_back(IdCell(bytes).value);
  return MixedCell("", std::move(ids));
}

Cell NamesCell(const google::protobuf::RepeatedPtrField<std::string>& names) {
  ordered_json list = ordered_json::array();
  for (const std::string& name : names) list.push_back(name);
  return MixedCell(absl::StrJoin(names, ", "), std::move(list));
}

// A random 64-bit number is a name: JSON readers that use doubles would change it.
Cell IncarnationCell(uint64_t incarnation) {
  return TextCell(absl::StrFormat("%016x", incarnation));
}

absl::Status ListModels(const Globals& globals) {
  AdminClient admin(globals.server, globals.connect_timeout);
  const auto response = admin.ListModels();
  if (!response.ok()) return response.status();
  Table table("models",
              {{"model", "MODEL"},
               {"latest", "LATEST", true},
               {"versions", "VERSIONS", true},
               {"replicas", "REPLICAS", true},
               {"workers", "WORKERS", true},
               {"keep_latest", "KEEP", true},
               {"term", "TERM", true}},
              "No models yet: none exists before a worker joins it.");
  for (const v1::ModelInfo& model : response->models()) {
    table.AddRow(
        {TextCell(model.model()), model.has_latest() ? NumberCell(model.latest()) : NoCell(),
         NumberCell(model.versions()), NumberCell(model.replicas()), NumberCell(model.workers()),
         NumberCell(model.keep_latest()), NumberCell(model.term())});
  }
  table.Print(globals.format(), std::cout);
  return absl::OkStatus();
}

absl::Status ListVersions(const Globals& globals, const std::string& model) {
  AdminClient admin(globals.server, globals.connect_timeout);
  const auto response = admin.ListVersions(model);
  if (!response.ok()) return response.status();
  Table table("versions",
              {{"version", "VERSION", true},
               {"state", "STATE"},
               {"term", "TERM", true},
               {"world_size", "RANKS", true},
               {"bytes", "SIZE", true},
               {"chunk_bytes", "CHUNK", true},
               {"complete_replicas", "COMPLETE", true},
               {"filling_replicas", "FILLING", true},
               {"kept_by", "KEPT BY"},
               {"identity", "CONTENT"},
               {"publication", "PUBLICATION"},
               {"layouts", ""},
               {"attachments", ""}},
              absl::StrCat("No versions of ", model, " are held by anybody."));
  for (const v1::VersionInfo& version : response->versions()) {
    table.AddRow({NumberCell(version.version()), TextCell(version.state()),
                  NumberCell(version.term()), NumberCell(version.world_size()),
                  BytesCell(version.bytes()), BytesCell(version.chunk_bytes()),
                  NumberCell(version.complete_replicas()), NumberCell(version.filling_replicas()),
                  NamesCell(version.kept_by()), IdCell(version.identity()),
                  IdCell(version.publication()), IdListCell(version.layouts()),
                  IdListCell(version.attachments())});
  }
  table.Print(globals.format(), std::cout);
  return absl::OkStatus();
}

absl::Status ListReplicas(const Globals& globals, const std::string& model,
                          const std::optional<VersionArgument>& version) {
  AdminClient admin(globals.server, globals.connect_timeout);
  v1::ListReplicasRequest request;
  request.set_model(model);
  if (version) request.set_version(version->value);
  const auto response = admin.ListReplicas(request);
  if (!response.ok()) return response.status();
  Table table("replicas",
              {{"version", "VERSION", true},
               {"group", "GROUP"},
               {"rank", "RANK", true},
               {"state", "STATE"},
               {"", "PROGRESS", true},
               {"valid_chunks", ""},
               {"chunks", "CHUNKS", true},
               {"readers", "READERS", true},
               {"sharding", "CUT"},
               {"full", ""},
               {"medium", "MEDIUM"},
               {"location", "LOCATION"},
               {"generation", ""},
               {"incarnation", ""}},
              version ? absl::StrCat("Nobody holds version ", version->value, " of ", model, ".")
                      : absl::StrCat("Nobody holds a version of ", model, "."));
  for (const v1::ReferenceInfo& reference : response->references()) {
    table.AddRow({NumberCell(reference.version()), TextCell(reference.group()),
                  NumberCell(reference.rank()), TextCell(reference.state()),
                  MixedCell(HumanPercent(reference.valid_chunks(), reference.chunks()), nullptr),
                  NumberCell(reference.valid_chunks()), NumberCell(reference.chunks()),
                  NumberCell(reference.readers()), CutCell(reference.sharding(), reference.full()),
                  BoolCell(reference.sharding().empty() || reference.full()),
                  TextCell(reference.medium()), TextCell(reference.location()),
                  NumberCell(reference.generation()), IncarnationCell(reference.incarnation())});
  }
  table.Print(globals.format(), std::cout);
  return absl::OkStatus();
}

// R3, R8: who is connected may be out of service, or stand still.
Cell ConnectedCell(const v1::WorkerInfo& worker) {
  if (!worker.connected()) return BoolCell(false);
  if (worker.withdrawn()) return MixedCell("out of service", true);
  return worker.stalled_ms() == 0 ? BoolCell(true) : MixedCell("stands still", true);
}

absl::Status ListWorkers(const Globals& globals) {
  AdminClient admin(globals.server, globals.connect_timeout);
  const auto response = admin.ListWorkers();
  if (!response.ok()) return response.status();
  Table table("workers",
              {{"model", "MODEL"},
               {"group", "GROUP"},
               {"rank", "RANK", true},
               {"world_size", "RANKS", true},
               {"version", "VERSION", true},
               {"connected", "CONNECTED"},
               {"spot", "SPOT"},
               {"lease_left_ms", "LEASE", true},
               {"location", "LOCATION"},
               {"stalled_ms", ""},
               {"withdrawn", ""},
               {"readers", ""},
               {"incarnation", ""}},
              "No workers: nobody has joined, or all have left.");
  for (const v1::WorkerInfo& worker : response->workers()) {
    table.AddRow({TextCell(worker.model()), TextCell(worker.group()), NumberCell(worker.rank()),
                  NumberCell(worker.world_size()),
                  worker.has_version() ? NumberCell(worker.version()) : NoCell(),
                  ConnectedCell(worker), BoolCell(worker.spot()),
                  MillisCell(worker.lease_left_ms()), TextCell(worker.location()),
                  MillisCell(worker.stalled_ms()), BoolCell(worker.withdrawn()),
                  NumberCell(worker.readers()), IncarnationCell(worker.incarnation())});
  }
  table.Print(globals.format(), std::cout);
  return absl::OkStatus();
}

void AddVersionsVerb(Verbs& verbs) {
  auto model = std::make_shared<ModelArgument>();
  verbs
      .Add("versions", "Lists a model's versions.",
           [model](const Globals& globals) { return ListVersions(globals, model->name); })
      .Argument("MODEL", model.get(), "the model");
}

void AddReplicasVerb(Verbs& verbs) {
  auto model = std::make_shared<ModelArgument>();
  auto version = std::make_shared<std::optional<VersionArgument>>();
  cli::Command& command = verbs.Add(
      "replicas", "Lists who holds a model's versions, rank by rank.",
      [=](const Globals& globals) { return ListReplicas(globals, model->name, *version); });
  command.Argument("MODEL", model.get(), "the model");
  command.OptionalArgument("VERSION", version.get(), "only this version");
}

}  // namespace

void AddListVerbs(Verbs& verbs) {
  verbs.Add("models", "Lists the models.", ListModels);
  AddVersionsVerb(verbs);
  AddReplicasVerb(verbs);
  verbs.Add("workers", "Lists the workers.", ListWorkers);
}

}  // namespace tensorhub::ctl
