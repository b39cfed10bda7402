// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a stream whose work takes microseconds: a thread that falls asleep for it adds tens
// of them, for an event and for being woken.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_FINISH_H_
#define TENSORHUB_WORKER_AGENT_CUDA_FINISH_H_

#include <chrono>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/cuda/driver.h"

namespace tensorhub::agent {

// Looks for so long, then waits asleep. The context is current.
inline absl::Status FinishStream(CudaDriver& driver, CudaStream stream,
                                 std::chrono::microseconds look_for) {
  const auto until = std::chrono::steady_clock::now() + look_for;
  do {
    const absl::StatusOr<bool> done = driver.StreamDone(stream);
    if (!done.ok()) return done.status();
    if (*done) return absl::OkStatus();
  } while (std::chrono::steady_clock::now() < until);
  return driver.SynchronizeStream(stream);
}

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_FINISH_H_
