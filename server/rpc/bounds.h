// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R9: what one caller may take of this server: sessions and watches at a time, calls a second, and
// bytes of layouts and attachments a minute. A caller is an address, and whoever a certificate or
// a token says: each has its own account, and a call counts for all that it is of.
//
// Thread contract: any thread. Times are milliseconds of a clock that does not go back.

#ifndef TENSORHUB_SERVER_RPC_BOUNDS_H_
#define TENSORHUB_SERVER_RPC_BOUNDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"

namespace tensorhub::rpc {

// 0: no bound.
struct CallerLimits {
  uint64_t sessions = 50'000;
  uint64_t calls_per_s = 100'000;
  uint64_t document_bytes_per_min = uint64_t{4} << 30;
};

class Bounds : public std::enable_shared_from_this<Bounds> {
 public:
  // Callers that are remembered at a time. Of more, those that come last have no account, and the
  // server's own limits are what is left.
  static constexpr size_t kCallersMax = 65'536;

  static std::shared_ptr<Bounds> Make(const CallerLimits& limits) {
    return std::shared_ptr<Bounds>(new Bounds(limits));
  }

  // Of a peer as gRPC writes it: "ipv4:10.0.0.7:34567" is "10.0.0.7". Of an address of IPv6 the
  // first 64 bits: a host has all of the rest.
  static std::string AddressOf(std::string_view peer);

  // RESOURCE_EXHAUSTED names the caller, the bound and the flag. `bytes`: of a document.
  absl::Status Count(const std::vector<std::string>& callers, uint64_t bytes, int64_t now_ms)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // An open session or watch, as long as it lives.
  class Seat {
   public:
    ~Seat() { bounds_->Leave(callers_); }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

   private:
    friend class Bounds;
    Seat(std::shared_ptr<Bounds> bounds, std::vector<std::string> callers)
        : bounds_(std::move(bounds)), callers_(std::move(callers)) {}
    const std::shared_ptr<Bounds> bounds_;
    const std::vector<std::string> callers_;
  };
  absl::StatusOr<std::shared_ptr<Seat>> Sit(const std::vector<std::string>& callers, int64_t now_ms)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // How often each bound was met, by the flag that it has.
  std::map<std::string, uint64_t> Met() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Account {
    uint64_t sessions = 0;
    int64_t second = 0;  // that `calls` are of
    uint64_t calls = 0;
    int64_t minute = 0;  // that `bytes` are of
    uint64_t bytes = 0;
  };

  explicit Bounds(const CallerLimits& limits) : limits_(limits) {}
  Account* AccountOf(const std::string& caller, int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetIdle(int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Refuse(const std::string& caller, const std::string& flag, const std::string& what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckLocked(const std::string& caller, const Account& account, uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(const std::vector<std::string>& callers) ABSL_LOCKS_EXCLUDED(mutex_);

  const CallerLimits limits_;
  Mutex mutex_;
  std::map<std::string, Account> accounts_ ABSL_GUARDED_BY(mutex_);
  int64_t forgot_at_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, uint64_t> met_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_BOUNDS_H_
