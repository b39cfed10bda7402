// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Threads in somebody else's process.

#ifndef TENSORHUB_WORKER_AGENT_RUNTIME_THREAD_H_
#define TENSORHUB_WORKER_AGENT_RUNTIME_THREAD_H_

#include <pthread.h>
#include <signal.h>

#include <functional>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "common/thread.h"

namespace tensorhub::agent {

// While it lives, threads that the calling thread starts, also inside libraries, take no signals:
// the host program's are for its own threads.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

inline absl::StatusOr<std::thread> StartWithoutSignals(std::string_view what,
                                                       std::function<void()> body) {
  const WithoutSignals blocked;
  return StartThread(what, std::move(body));
}

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_RUNTIME_THREAD_H_
