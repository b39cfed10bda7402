// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Hashes chunks of the registered memory (the core's HashChunks): what was published, and what is
// checked again, beside the progress thread, so that bytes go on moving meanwhile. A chunk that has
// just arrived by messages, and that a read waits for, is hashed by the caller: it is in that
// core's cache, the other cores are busy sending, and handing it over and back costs two wake-ups,
// in every member of a chain. One that was copied from an idle source's memory is handed over all
// the same: the copying goes on, and the hasher waits for the next one with open eyes, so nobody is
// woken.
//
// How bytes are hashed is for the memory's Medium to say. One that makes digests of many chunks at
// once (a device) is never asked by the caller, and gets jobs that continue one another as one.
//
// Thread contract: made, used and stopped on one thread. `on_hashed` is called on the hasher's own,
// and no more once Stop has returned; `on_failed` there or from
// within Hash, when the memory has been lost; the hasher's thread does nothing after it.

#ifndef TENSORHUB_WORKER_AGENT_MEMORY_CHUNK_HASHER_H_
#define TENSORHUB_WORKER_AGENT_MEMORY_CHUNK_HASHER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/memory/memory.h"
#include "worker_agent/runtime/spin_budget.h"

namespace tensorhub::agent {

class ChunkHasher {
 public:
  using OnHashed = std::function<void(std::vector<ChunksHashed>)>;

  using OnFailed = std::function<void(const absl::Status&)>;

  explicit ChunkHasher(
      OnHashed on_hashed, OnFailed on_failed = [](const absl::Status&) {})
      : on_hashed_(std::move(on_hashed)), on_failed_(std::move(on_failed)) {}
  ~ChunkHasher() { Stop(); }
  ChunkHasher(const ChunkHasher&) = delete;
  ChunkHasher& operator=(const ChunkHasher&) = delete;

  // Before the first job. RESOURCE_EXHAUSTED: no thread is left that could hash. Idempotent.
  absl::Status Start();
  // The answer, if it was hashed at once; otherwise `on_hashed` gets it. `memory` outlives Stop.
  std::optional<ChunksHashed> Hash(const HashChunks& job, const Memory& memory)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the job under way, a few milliseconds; those behind it are not done. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Job {
    HashChunks what;
    const Memory* memory = nullptr;
  };

  // Jobs that are done as one: their chunks follow one another.
  using Batch = std::vector<Job>;

  // Appends the batch's answers to those in `done`. False if the memory is lost.
  bool HashNow(const Batch& batch, std::vector<ChunksHashed>& done);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // A wake-up takes longer than hashing a chunk does.
  void WatchForJobs();
  // Waits for a job if `wait`. Empty: there is none, or it is stopping.
  Batch Next(bool wait) ABSL_LOCKS_EXCLUDED(mutex_);
  bool stopping() ABSL_LOCKS_EXCLUDED(mutex_);

  const OnHashed on_hashed_;
  const OnFailed on_failed_;
  std::thread thread_;
  SpinBudget spin_;                   // of that thread
  std::atomic<bool> called_ = false;  // for a job, or to stop, since jobs_ was looked at

  Mutex mutex_;
  CondVar changed_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_MEMORY_CHUNK_HASHER_H_
