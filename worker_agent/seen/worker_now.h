// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a worker stands at one moment, for who watches it.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_WORKER_NOW_H_
#define TENSORHUB_WORKER_AGENT_SEEN_WORKER_NOW_H_

#include <atomic>
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

// Any thread, also when the worker has ended.
struct AskWorker {
  // Asks the progress thread, whose answer comes when it is there; none: the worker has ended.
  std::function<std::shared_ptr<Answer<std::optional<WorkerNow>>>()> now;
  // Whether that thread does what its program asked for and waits for: the answer comes later then.
  std::shared_ptr<const std::atomic<bool>> at_owners_call;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_WORKER_NOW_H_
