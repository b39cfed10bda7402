// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Load on a server: callers, each a thread with one call under way at a time, that take the workers
// in turns; and the heartbeats of all workers meanwhile.

#ifndef TENSORHUB_BENCH_LOAD_H_
#define TENSORHUB_BENCH_LOAD_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/echo.h"
#include "bench/light_worker.h"
#include "common/mutex.h"

namespace tensorhub::bench {

using LightWorkers = std::vector<std::unique_ptr<LightWorker>>;

struct LoadPlan {
  uint32_t callers = 1;  // at most one per worker
  // How long; or each worker once, however long that takes.
  double seconds = 0;
  bool each_once = false;
  // The rate of all callers together, by a timetable that does not wait for late ones: a turn's
  // first call counts from when it was due, so that one slow call shows in those that wait behind
  // it. 0: as many as they can.
  double turns_per_second = 0;
};

struct LoadResult {
  double seconds = 0;
  uint64_t turns = 0;
  // Microseconds, by the call's name.
  std::map<std::string, std::vector<double>> us;
  double calls() const;
  std::vector<double> all_us() const;
  void Add(const LoadResult& other);
};

// What a caller does with a worker when its turn comes. Called on the callers' threads, each worker
// on one of them only.
using Turn =
    std::function<absl::Status(LightWorker& worker, Echo& echo, const LightWorker::OnCall&)>;

// One empty call over the worker's connection.
absl::Status EchoTurn(LightWorker& worker, Echo& echo, const LightWorker::OnCall& on_call);

// Ends early with the first error.
absl::StatusOr<LoadResult> Drive(const LightWorkers& workers, const LoadPlan& plan,
                                 const Turn& turn);

// Beats for all workers, spread evenly over the interval, from a thread of its own.
class Pulse {
 public:
  // The workers outlive it.
  Pulse(std::vector<LightWorker*> workers, std::chrono::milliseconds interval);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  bool SleepUntil(std::chrono::steady_clock::time_point time) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<LightWorker*> workers_;
  const std::chrono::milliseconds interval_;
  Mutex mutex_;
  CondVar stop_asked_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_LOAD_H_
