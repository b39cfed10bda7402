// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// trace: the last fetches as a timeline (fetch_trace.h).

#include <iostream>
#include <memory>
#include <optional>

#include "tools/ctl/admin_client.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/fetch_plan.h"
#include "tools/ctl/fetch_trace.h"
#include "tools/ctl/verbs.h"

namespace tensorhub::ctl {
namespace {

struct TraceArguments {
  ModelArgument model;
  std::optional<VersionOrLatest> version;
};

// An event a line, so that what was cut is read up to there.
absl::Status Trace(const Globals& globals, const TraceArguments& arguments) {
  AdminClient admin(globals.server, globals.connect_timeout);
  v1::ExplainFetchesRequest request;
  request.set_model(arguments.model.name);
  if (arguments.version) {
    const absl::StatusOr<uint64_t> version =
        NumberOf(admin, arguments.model.name, *arguments.version);
    if (!version.ok()) return version.status();
    request.set_version(*version);
  }
  const auto response = admin.ExplainFetches(request);
  if (!response.ok()) return response.status();
  const char* before = "[\n";
  for (const nlohmann::ordered_json& event : TraceOf(arguments.model.name, *response)) {
    std::cout << before
              << event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    before = ",\n";
  }
  std::cout << (before[0] == '[' ? "[" : "") << "\n]\n";
  return absl::OkStatus();
}

}  // namespace

void AddTraceVerb(Verbs& verbs) {
  auto arguments = std::make_shared<TraceArguments>();
  const auto run = [arguments](const Globals& globals) { return Trace(globals, *arguments); };
  cli::Command& command = verbs.Add(
      "trace", "Prints each worker's last fetch as a timeline, for ui.perfetto.dev.", run);
  command.Argument("MODEL", &arguments->model, "the model");
  command.OptionalArgument("VERSION", &arguments->version,
                           "only fetches of that version, or of the latest");
  command.Example("tensorhubctl trace qwen3-8b/actor > trace.json");
}

}  // namespace tensorhub::ctl
