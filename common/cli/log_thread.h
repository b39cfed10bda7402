// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// For programs that others wait for. What they log is written by a thread of its own, so that a log
// that nobody reads (a pipe whose reader stands still, a terminal that was halted) holds nobody up.

#ifndef TENSORHUB_COMMON_CLI_LOG_THREAD_H_
#define TENSORHUB_COMMON_CLI_LOG_THREAD_H_

#include <cstddef>
#include <future>
#include <string>

#include "common/cli/logging.h"

namespace tensorhub::cli {

// In place of InitLogging, or after it: from now on lines wait in memory, in their order, to be
// written. While kWaitingMax do, a new one takes the place of the oldest, and once somebody reads
// again a line says how many are missing. What was logged just before the process is killed, or
// aborts, may be lost.
//
// Thread contract: made once, before other threads log, and with the signals blocked that its
// thread shall not get.
class LogThread {
 public:
  // As many as ten thousand workers that are lost at once make; some megabytes.
  static constexpr size_t kWaitingMax = 16384;

  LogThread(const std::string& program, const LogOptions& options);
  // Waits for what was logged before, a second at most. The thread stays, since others may still
  // have something to say, which may be lost.
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;

 private:
  std::future<void> flushed_;
};

}  // namespace tensorhub::cli

#endif  // TENSORHUB_COMMON_CLI_LOG_THREAD_H_
