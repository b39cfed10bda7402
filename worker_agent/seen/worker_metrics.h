// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The metrics of a process with workers in it. docs/metrics.md has a row for each.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_WORKER_METRICS_H_
#define TENSORHUB_WORKER_AGENT_SEEN_WORKER_METRICS_H_

#include <map>
#include <string>
#include <vector>

#include "worker_agent/seen/tally.h"
#include "worker_agent/seen/worker_now.h"

namespace tensorhub::agent {

// What this process does with one model.
struct ModelWorkers {
  Tally tally;
  std::vector<std::optional<WorkerNow>> ranks;  // none: its progress thread did not answer
};

// `models`: by name, at most those that one page shows.
std::string WorkerMetrics(const std::map<std::string, ModelWorkers>& models);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_WORKER_METRICS_H_
