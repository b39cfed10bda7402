// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/chunk_hasher.h"

#include <utility>

#include "worker_agent/medium.h"

namespace tensorhub::agent {
namespace {

// What fits a core's cache, and does not hold the caller up: a tenth of a millisecond.
constexpr uint64_t kAtOnceMax = 1 << 20;
// Telling costs a wake-up, so not of each chunk where many wait.
constexpr uint64_t kTellEveryBytes = 1 << 20;

uint64_t BytesOf(const HashChunks& job) { return job.chunking.chunk_bytes * job.count; }

}  // namespace

std::optional<ChunksHashed> ChunkHasher::Hash(const HashChunks& job, const Memory& memory) {
  if (job.urgent && BytesOf(job) <= kAtOnceMax) return HashNow({job, &memory});
  MutexLock lock(mutex_);
  if (stopping_) return std::nullopt;
  jobs_.push_back({job, &memory});
  changed_.NotifyAll();
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  return std::nullopt;
}

std::optional<ChunksHashed> ChunkHasher::HashNow(const Job& job) {
  absl::StatusOr<std::vector<uint64_t>> digests =
      job.memory->medium().Digests(*job.memory, job.what);
  if (digests.ok()) return ChunksHashed{job.what.token, *std::move(digests)};
  on_failed_(digests.status());
  return std::nullopt;
}

std::optional<ChunkHasher::Job> ChunkHasher::Next(bool wait) {
  MutexLock lock(mutex_);
  while (wait && jobs_.empty() && !stopping_) changed_.Wait(mutex_);
  if (jobs_.empty() || stopping_) return std::nullopt;
  const Job job = jobs_.front();
  jobs_.pop_front();
  return job;
}

bool ChunkHasher::stopping() {
  MutexLock lock(mutex_);
  return stopping_;
}

void ChunkHasher::Run() {
  std::vector<ChunksHashed> done;
  uint64_t bytes = 0;
  while (!stopping()) {
    const std::optional<Job> job = Next(/*wait=*/done.empty());
    if (job) {
      std::optional<ChunksHashed> hashed = HashNow(*job);
      if (!hashed) return;
      done.push_back(*std::move(hashed));
      bytes += BytesOf(job->what);
      if (bytes < kTellEveryBytes) continue;
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
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace tensorhub::agent
