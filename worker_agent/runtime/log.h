// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The agent's log. It lives in programs of others, so it leaves their logger and their standard
// output alone: warnings go to standard error, more with TENSORHUB_LOG_LEVEL=debug|info|warn|error.
// A program that wants it elsewhere registers an spdlog logger "tensorhub" before it connects; one
// that does not wait for whoever reads it, since the progress thread writes to it.
// What goes to standard error is written by a thread of its own, for the same reason: of 1,024
// lines that wait the oldest are dropped.
//
// Thread contract: any thread.

#ifndef TENSORHUB_WORKER_AGENT_RUNTIME_LOG_H_
#define TENSORHUB_WORKER_AGENT_RUNTIME_LOG_H_

#include <spdlog/logger.h>

#include <memory>

namespace tensorhub::agent {

spdlog::logger& Log();

// Says warnings and errors if `level` is null or none of the four.
std::shared_ptr<spdlog::logger> MakeStderrLogger(const char* level);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_RUNTIME_LOG_H_
