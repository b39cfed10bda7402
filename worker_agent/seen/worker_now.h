// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a worker stands at one moment, for who watches it.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_WORKER_NOW_H_
#define TENSORHUB_WORKER_AGENT_SEEN_WORKER_NOW_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "common/ids.h"
#include "worker_agent/runtime/answer.h"

namespace tensorhub::agent {

struct WorkerNow {
  bool connected = false;  // in a session with the server
  std::optional<VersionNumber> held = {};
  size_t sources = 0;  // that it reads from
  size_t readers = 0;  // reads of others that are open here
};

// Any thread, also when the worker has ended. Asks the progress thread, whose answer comes when it
// is there; none: the worker has ended.
using AskWorker = std::function<std::shared_ptr<Answer<std::optional<WorkerNow>>>()>;

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_WORKER_NOW_H_
