// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/chunk_hasher.h"

#include <utility>

namespace tensorhub::agent {
namespace {

// A modest guess at what one core hashes of what it has just copied.
constexpr int64_t kBytesPerUs = 10'000;
// So much of its time at most may the caller's thread hash.
constexpr int64_t kShareOfTime = 5;  // a fifth: up to 2 GB/s
constexpr uint64_t kAtOnceMax = 1 << 20;
// Telling costs a wake-up, so not of each chunk where many wait.
constexpr uint64_t kTellEveryBytes = 1 << 20;

}  // namespace

bool ChunkHasher::HasTime(const HashChunks& job, int64_t now_us) const {
  const uint64_t bytes = job.chunking.chunk_bytes * job.count;
  if (!job.urgent || bytes > kAtOnceMax) return false;
  return now_us - urgent_at_us_ >= kShareOfTime * static_cast<int64_t>(bytes) / kBytesPerUs;
}

std::optional<ChunksHashed> ChunkHasher::Hash(const HashChunks& job, const Memory& memory,
                                              int64_t now_us) {
  const bool at_once = HasTime(job, now_us);
  if (job.urgent) urgent_at_us_ = now_us;
  if (at_once) return HashNow({job, &memory}, scratch_);
  MutexLock lock(mutex_);
  if (stopping_) return std::nullopt;
  jobs_.push_back({job, &memory});
  changed_.NotifyAll();
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  return std::nullopt;
}

ChunksHashed ChunkHasher::HashNow(const Job& job, Scratch& scratch) {
  const HashChunks& what = job.what;
  ChunksHashed hashed{what.token, {}};
  hashed.digests.reserve(what.count);
  for (uint32_t chunk = what.first; chunk < what.first + what.count; ++chunk) {
    job.memory->Pieces({what.chunking.begin(chunk), what.chunking.size(chunk)}, scratch.pieces);
    scratch.digest_pieces.clear();
    for (const Memory::Piece& piece : scratch.pieces) {
      scratch.digest_pieces.push_back({piece.data, piece.bytes});
    }
    hashed.digests.push_back(
        ChunkDigest(scratch.digest_pieces.data(), scratch.digest_pieces.size()));
  }
  return hashed;
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
  Scratch scratch;
  std::vector<ChunksHashed> done;
  uint64_t bytes = 0;
  while (!stopping()) {
    const std::optional<Job> job = Next(/*wait=*/done.empty());
    if (job) {
      done.push_back(HashNow(*job, scratch));
      bytes += job->what.chunking.chunk_bytes * job->what.count;
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
