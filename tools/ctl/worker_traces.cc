// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/worker_traces.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace tensorhub::ctl {
namespace {

using nlohmann::ordered_json;

constexpr char kSuffix[] = ".trace.json";

absl::Status NoTraces(const std::string& folder) {
  return absl::NotFoundError(absl::StrCat("--workers: no file *", kSuffix, " in ", Shown(folder),
                                          "; start workers with TENSORHUB_TRACE=FOLDER"));
}

std::vector<std::filesystem::path> FilesIn(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (absl::EndsWith(entry.path().filename().string(), kSuffix)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// An event of ours has all that its merging needs.
bool IsEvent(const ordered_json& event) {
  return event.is_object() && event.contains("ph") && event["ph"].is_string() &&
         event.contains("cat") && event["cat"].is_string();
}

void ReadFile(const std::filesystem::path& path, const std::string& model, WorkerTraces& traces) {
  ++traces.files;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line == "[" || line == "]" || line.empty()) continue;
    if (line.back() == ',') line.pop_back();
    ordered_json event = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!IsEvent(event)) {
      ++traces.unread_lines;
    } else if (event["cat"] == model) {
      traces.events.push_back(std::move(event));
    }
  }
}

std::string Argument(const ordered_json& event, const char* name) {
  const auto args = event.find("args");
  if (args == event.end() || !args->is_object() || !args->contains(name)) return "";
  const ordered_json& value = (*args)[name];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The read that an event is of: a slice says so by its arguments, an arrow by its own id.
std::string ReadOf(const ordered_json& event) {
  const auto id = event.find("id");
  return id != event.end() && id->is_string() ? id->get<std::string>() : Argument(event, "read");
}

// A source does not know of which version a read is. The reader does.
void KeepVersion(uint64_t version, std::vector<ordered_json>& events) {
  const std::string wanted = std::to_string(version);
  std::set<std::string> reads;
  for (const ordered_json& event : events) {
    if (Argument(event, "version") == wanted) reads.insert(Argument(event, "read"));
  }
  reads.erase("");
  std::erase_if(events, [&](const ordered_json& event) {
    const bool names = event["ph"] == "M";
    return !names && Argument(event, "version") != wanted && !reads.contains(ReadOf(event));
  });
}

}  // namespace

absl::StatusOr<WorkerTraces> ReadWorkerTraces(const std::string& folder, const std::string& model,
                                              std::optional<uint64_t> version) {
  WorkerTraces traces;
  for (const std::filesystem::path& path : FilesIn(folder)) ReadFile(path, model, traces);
  if (traces.files == 0) return NoTraces(folder);
  if (version) KeepVersion(*version, traces.events);
  return traces;
}

}  // namespace tensorhub::ctl
