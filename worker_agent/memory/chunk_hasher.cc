// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/memory/chunk_hasher.h"

#include <sched.h>

#include <chrono>
#include <utility>

#include "common/thread.h"
#include "worker_agent/memory/medium.h"

namespace tensorhub::agent {
namespace {

// What fits a core's cache, and does not hold the caller up: a tenth of a millisecond.
constexpr uint64_t kAtOnceMax = 1 << 20;
// Telling costs a wake-up, so not of each chunk where many wait.
constexpr uint64_t kTellEveryBytes = 1 << 20;

// Bytes of jobs for a device that are done as one. Jobs gather while the one before is done, so
// that there are so many only where the device is behind.
constexpr uint64_t kTogetherMax = 1 << 30;

int64_t NowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

uint64_t BytesOf(const HashChunks& job) {
  if (job.ranges.empty()) return job.chunking.chunk_bytes * job.count;
  uint64_t bytes = 0;
  for (const ByteRange& range : job.ranges) bytes += range.bytes;
  return bytes;
}

bool Continues(const HashChunks& job, const HashChunks& before) {
  return job.ranges.empty() && before.ranges.empty() && job.first == before.first + before.count &&
         job.chunking.chunk_bytes == before.chunking.chunk_bytes &&
         job.chunking.total_bytes == before.chunking.total_bytes;
}

}  // namespace

absl::Status ChunkHasher::Start() {
  if (thread_.joinable()) return absl::OkStatus();
  absl::StatusOr<std::thread> thread = StartThread("digests", [this] { Run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

std::optional<ChunksHashed> ChunkHasher::Hash(const HashChunks& job, const Memory& memory) {
  const bool at_once = job.urgent && !job.beside && BytesOf(job) <= kAtOnceMax;
  if (at_once && !memory.medium().DigestsManyAtOnce()) {
    std::vector<ChunksHashed> done;
    if (!HashNow({{job, &memory}}, done)) return std::nullopt;
    return std::move(done.front());
  }
  MutexLock lock(mutex_);
  if (stopping_) return std::nullopt;
  jobs_.push_back({job, &memory});
  called_.store(true, std::memory_order_relaxed);
  changed_.NotifyAll();
  return std::nullopt;
}

bool ChunkHasher::HashNow(const Batch& batch, std::vector<ChunksHashed>& done) {
  HashChunks all = batch.front().what;
  for (size_t i = 1; i < batch.size(); ++i) all.count += batch[i].what.count;
  const Memory& memory = *batch.front().memory;
  const absl::StatusOr<std::vector<uint64_t>> digests = memory.medium().Digests(memory, all);
  if (!digests.ok()) {
    on_failed_(digests.status());
    return false;
  }
  auto from = digests->begin();
  for (const Job& job : batch) {
    done.push_back({job.what.token, std::vector<uint64_t>(from, from + job.what.count)});
    from += job.what.count;
  }
  return true;
}

void ChunkHasher::WatchForJobs() {
  const int64_t since_us = NowUs();
  int64_t idle_us = 0;
  while (!called_.load(std::memory_order_relaxed)) {
    if (!spin_.Allows(idle_us)) return;
    sched_yield();
    idle_us = NowUs() - since_us;
  }
  spin_.OnActive(idle_us);
}

ChunkHasher::Batch ChunkHasher::Next(bool wait) {
  if (wait) WatchForJobs();
  MutexLock lock(mutex_);
  while (wait && jobs_.empty() && !stopping_) changed_.Wait(mutex_);
  Batch batch;
  if (stopping_) return batch;
  for (uint64_t bytes = 0; !jobs_.empty(); jobs_.pop_front()) {
    const Job& next = jobs_.front();
    const bool joins =
        batch.empty() ||
        (next.memory == batch.front().memory && next.memory->medium().DigestsManyAtOnce() &&
         Continues(next.what, batch.back().what) && bytes < kTogetherMax);
    if (!joins) break;
    bytes += BytesOf(next.what);
    batch.push_back(next);
  }
  called_.store(!jobs_.empty(), std::memory_order_relaxed);
  return batch;
}

bool ChunkHasher::stopping() {
  MutexLock lock(mutex_);
  return stopping_;
}

void ChunkHasher::Run() {
  std::vector<ChunksHashed> done;
  uint64_t bytes = 0;
  while (!stopping()) {
    const Batch batch = Next(/*wait=*/done.empty());
    if (!batch.empty()) {
      if (!HashNow(batch, done)) return;
      for (const Job& job : batch) bytes += BytesOf(job.what);
      if (bytes < kTellEveryBytes && !batch.back().what.beside) continue;
    }
    if (!done.empty()) on_hashed_(std::exchange(done, {}));
    bytes = 0;
  }
}

void ChunkHasher::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    jobs_.clear();
    called_.store(true, std::memory_order_relaxed);
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace tensorhub::agent
