// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Threads in somebody else's process.

#ifndef TENSORHUB_WORKER_AGENT_THREAD_H_
#define TENSORHUB_WORKER_AGENT_THREAD_H_

#include <pthread.h>
#include <signal.h>

#include <functional>
#include <thread>
#include <utility>

namespace tensorhub::agent {

// The host program's signals are for its own threads.
inline std::thread StartWithoutSignals(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_THREAD_H_
