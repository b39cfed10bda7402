// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The memory that agents of this process let one another read: the process's own table, so that a
// key from a message leads to nothing that was not put here (R9).
//
// Thread contract: any thread.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_LOCAL_REGIONS_H_
#define TENSORHUB_WORKER_AGENT_CUDA_LOCAL_REGIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/mutex.h"

namespace tensorhub::agent {

class LocalRegion {
 public:
  LocalRegion(std::byte* base, size_t bytes) : base_(base), bytes_(bytes) {}

  std::byte* base() const { return base_; }
  size_t bytes() const { return bytes_; }

  // False once it is withdrawn. Each Enter that is true needs one Exit.
  bool Enter() ABSL_LOCKS_EXCLUDED(mutex_);
  void Exit() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns when nobody reads it any more, and nobody will.
  void Withdraw() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::byte* const base_;
  const size_t bytes_;
  Mutex mutex_;
  CondVar changed_;
  size_t users_ ABSL_GUARDED_BY(mutex_) = 0;
  bool withdrawn_ ABSL_GUARDED_BY(mutex_) = false;
};

class LocalRegions {
 public:
  static LocalRegions& OfThisProcess();

  // The key that Find takes.
  std::string Add(std::byte* base, size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Withdraws it as well.
  void Remove(const std::string& key) ABSL_LOCKS_EXCLUDED(mutex_);
  // Null: nobody shares that.
  std::shared_ptr<LocalRegion> Find(std::string_view key) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<LocalRegion>, std::less<>> regions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_LOCAL_REGIONS_H_
