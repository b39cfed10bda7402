// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What workers have done, in figures that only grow: plain data, and a shared one that outlives
// the workers that add to it.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_TALLY_H_
#define TENSORHUB_WORKER_AGENT_SEEN_TALLY_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "common/location.h"
#include "common/mutex.h"

namespace tensorhub::agent {

// A fetch of one rank is in one of these at a time (docs/operations.md has the same of the hub).
inline constexpr std::array<std::string_view, 5> kFetchPhases = {"join", "drain", "assign", "read",
                                                                 "commit"};

struct Tally {
  std::map<std::pair<Tier, std::string>, uint64_t> read;  // bytes, by the source's tier and the way
  std::map<std::string, uint64_t> served;                 // bytes that this side sent, by the way
  std::array<int64_t, kFetchPhases.size()> phase_us{};    // of fetches, those that run as well
  uint64_t succeeded = 0;                                 // fetches
  uint64_t failed = 0;
  uint64_t other_sources = 0;             // turned to after the first of a stream
  uint64_t failed_sources = 0;            // told to the hub
  std::map<std::string, uint64_t> ended;  // reads of others that were refused or ended, by code
  bool operator==(const Tally&) const = default;

  void Add(const Tally& other);
};

// Thread contract: any thread.
class SharedTally {
 public:
  void Add(const Tally& tally) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    sum_.Add(tally);
  }
  Tally Sum() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return sum_;
  }

 private:
  Mutex mutex_;
  Tally sum_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_TALLY_H_
