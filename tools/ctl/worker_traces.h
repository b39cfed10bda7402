// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What workers wrote by --trace and TENSORHUB_TRACE (worker_agent/seen/trace_file.h): the files of
// a folder, put together.

#ifndef TENSORHUB_TOOLS_CTL_WORKER_TRACES_H_
#define TENSORHUB_TOOLS_CTL_WORKER_TRACES_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tensorhub::ctl {

struct WorkerTraces {
  std::vector<nlohmann::ordered_json> events;
  size_t files = 0;
  size_t unread_lines = 0;  // cut, or no events: of a file that is being written, say
};

// The events of that model in all the files; with a version, what was read and served for it.
// NOT_FOUND if there are none in that folder, or no such folder.
absl::StatusOr<WorkerTraces> ReadWorkerTraces(const std::string& folder, const std::string& model,
                                              std::optional<uint64_t> version);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_WORKER_TRACES_H_
