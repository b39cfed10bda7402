// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How long calls took, by their name, from the whole request until the answer was handed to gRPC.
// What waits by its nature (a fetch for its group, an unpublish for its readers) counts with that.
//
// Thread contract: any thread.

#ifndef TENSORHUB_SERVER_RPC_LATENCIES_H_
#define TENSORHUB_SERVER_RPC_LATENCIES_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "common/mutex.h"

namespace tensorhub::rpc {

class Latencies {
 public:
  using Clock = std::chrono::steady_clock;

  // Seconds; what took longer is counted in `count` alone.
  static constexpr std::array<double, 11> kBounds = {0.0003, 0.001, 0.003, 0.01, 0.03, 0.1,
                                                     0.3,    1,     3,     10,   30};
  struct OfCall {
    uint64_t count = 0;
    double sum_s = 0;
    std::array<uint64_t, kBounds.size()> upto{};  // each with those below it
  };

  void Note(const std::string& call, Clock::duration took) ABSL_LOCKS_EXCLUDED(mutex_) {
    const double seconds = std::chrono::duration<double>(took).count();
    MutexLock lock(mutex_);
    OfCall& of = by_call_[call];
    ++of.count;
    of.sum_s += seconds;
    for (size_t i = 0; i < kBounds.size(); ++i) {
      if (seconds <= kBounds[i]) ++of.upto[i];
    }
  }
  std::map<std::string, OfCall> ByCall() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return by_call_;
  }

 private:
  Mutex mutex_;
  std::map<std::string, OfCall> by_call_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_LATENCIES_H_
