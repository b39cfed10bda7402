// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/local_regions.h"

#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/random.h"

namespace tensorhub::agent {

bool LocalRegion::Enter() {
  MutexLock lock(mutex_);
  if (withdrawn_) return false;
  ++users_;
  return true;
}

void LocalRegion::Exit() {
  MutexLock lock(mutex_);
  TH_CHECK(users_ > 0);
  if (--users_ == 0) changed_.NotifyAll();
}

void LocalRegion::Withdraw() {
  MutexLock lock(mutex_);
  withdrawn_ = true;
  while (users_ > 0) changed_.Wait(mutex_);
}

LocalRegions& LocalRegions::OfThisProcess() {
  static LocalRegions* const regions = new LocalRegions;
  return *regions;
}

std::string LocalRegions::Add(std::byte* base, size_t bytes, int device) {
  std::string key = absl::StrFormat("%016x", RandomSeed());
  MutexLock lock(mutex_);
  regions_[key] = std::make_shared<LocalRegion>(base, bytes, device);
  return key;
}

void LocalRegions::Remove(const std::string& key) {
  std::shared_ptr<LocalRegion> region;
  {
    MutexLock lock(mutex_);
    const auto found = regions_.find(key);
    if (found == regions_.end()) return;
    region = found->second;
    regions_.erase(found);
  }
  region->Withdraw();
}

std::shared_ptr<LocalRegion> LocalRegions::Find(std::string_view key) {
  MutexLock lock(mutex_);
  const auto found = regions_.find(key);
  return found == regions_.end() ? nullptr : found->second;
}

}  // namespace tensorhub::agent
