// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// trace: the last fetches as a timeline (fetch_trace.h).

#include <chrono>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tools/ctl/admin_client.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/fetch_plan.h"
#include "tools/ctl/fetch_trace.h"
#include "tools/ctl/verbs.h"
#include "tools/ctl/worker_traces.h"

namespace tensorhub::ctl {
namespace {

struct TraceArguments {
  ModelArgument model;
  std::optional<VersionOrLatest> version;
  std::string workers;
};

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Behind the server's own view, if that is wanted.
absl::Status AddWorkers(const TraceArguments& arguments, std::optional<uint64_t> version,
                        std::vector<nlohmann::ordered_json>& events) {
  if (arguments.workers.empty()) return absl::OkStatus();
  absl::StatusOr<WorkerTraces> traces =
      ReadWorkerTraces(arguments.workers, arguments.model.name, version);
  if (!traces.ok()) return traces.status();
  if (traces->unread_lines > 0) {
    std::cerr << "tensorhubctl: " << traces->unread_lines
              << " lines of the workers' traces are cut or no events, and left out\n";
  }
  std::move(traces->events.begin(), traces->events.end(), std::back_inserter(events));
  return absl::OkStatus();
}

// An event a line, so that what was cut is read up to there.
void Print(const std::vector<nlohmann::ordered_json>& events) {
  const char* before = "[\n";
  for (const nlohmann::ordered_json& event : events) {
    std::cout << before
              << event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    before = ",\n";
  }
  std::cout << (before[0] == '[' ? "[" : "") << "\n]\n";
}

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
  std::optional<int64_t> now_ms;
  if (!arguments.workers.empty()) now_ms = NowMs();
  std::vector<nlohmann::ordered_json> events = TraceOf(arguments.model.name, *response, now_ms);
  std::optional<uint64_t> version;
  if (request.has_version()) version = request.version();
  const absl::Status added = AddWorkers(arguments, version, events);
  if (added.ok()) Print(events);
  return added;
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
  command.Flag("workers", &arguments->workers,
               "with what workers wrote by TENSORHUB_TRACE, from all files of this folder",
               {.placeholder = "DIR"});
  command.Example("tensorhubctl trace qwen3-8b/actor > trace.json");
  command.Example("tensorhubctl trace qwen3-8b/actor 7 --workers /shared/traces > trace.json");
}

}  // namespace tensorhub::ctl
