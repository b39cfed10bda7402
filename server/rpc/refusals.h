// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How many calls and sessions of workers and operators have ended with an error, by its code: what
// was malformed, stale, forged, or too much. An operator sees there that somebody misbehaves.
//
// Thread contract: any thread, and never waits.

#ifndef TENSORHUB_SERVER_RPC_REFUSALS_H_
#define TENSORHUB_SERVER_RPC_REFUSALS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace tensorhub::rpc {

class Refusals {
 public:
  // Returns it. Who hung up was not refused.
  const absl::Status& Count(const absl::Status& status) {
    if (!status.ok() && !absl::IsCancelled(status)) {
      counts_[static_cast<size_t>(status.code())].fetch_add(1, std::memory_order_relaxed);
    }
    return status;
  }

  // Counts that are not zero, by the name of the code.
  std::map<std::string, uint64_t> ByCode() const {
    std::map<std::string, uint64_t> counts;
    for (size_t code = 0; code < counts_.size(); ++code) {
      const uint64_t count = counts_[code].load(std::memory_order_relaxed);
      const auto name = absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
      if (count != 0) counts[name] = count;
    }
    return counts;
  }

 private:
  static constexpr size_t kCodes = static_cast<size_t>(absl::StatusCode::kUnauthenticated) + 1;
  std::array<std::atomic<uint64_t>, kCodes> counts_{};
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_REFUSALS_H_
