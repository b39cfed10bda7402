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

// A peer's memory, at an address that this process's devices can copy from.
class PeerRegion {
 public:
  // `device`: whose kernels may use it; -1: none, it is host memory. `home`: whose memory it is.
  PeerRegion(std::byte* base, size_t bytes, int device, int home)
      : base_(base), bytes_(bytes), device_(device), home_(home) {}
  virtual ~PeerRegion() = default;
  PeerRegion(const PeerRegion&) = delete;
  PeerRegion& operator=(const PeerRegion&) = delete;

  std::byte* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  int device() const { return device_; }
  int home() const { return home_; }

  // Around whatever reads it. False once it is withdrawn; each Enter that is true needs one Exit.
  virtual bool Enter() = 0;
  virtual void Exit() = 0;

 private:
  std::byte* const base_;
  const size_t bytes_;
  const int device_;
  const int home_;
};

class LocalRegion : public PeerRegion {
 public:
  LocalRegion(std::byte* base, size_t bytes, int device)
      : PeerRegion(base, bytes, device, device) {}

  bool Enter() override ABSL_LOCKS_EXCLUDED(mutex_);
  void Exit() override ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns when nobody reads it any more, and nobody will.
  void Withdraw() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t users_ ABSL_GUARDED_BY(mutex_) = 0;
  bool withdrawn_ ABSL_GUARDED_BY(mutex_) = false;
};

class LocalRegions {
 public:
  static LocalRegions& OfThisProcess();

  // The key that Find takes.
  std::string Add(std::byte* base, size_t bytes, int device) ABSL_LOCKS_EXCLUDED(mutex_);
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
