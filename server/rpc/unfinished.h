// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R9: calls whose first message has not come whole. gRPC keeps what there is of it for as long as
// the connection lasts; who stopped in the middle is hung up on after a while. By the steady clock:
// gRPC's own timers follow the wall clock.
//
// Thread contract: any thread; `cancel` is called on this object's own, under its lock: it must not
// block, nor call back.

#ifndef TENSORHUB_SERVER_RPC_UNFINISHED_H_
#define TENSORHUB_SERVER_RPC_UNFINISHED_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "common/mutex.h"

namespace tensorhub::rpc {

class Unfinished {
 public:
  using Ticket = uint64_t;

  // `patience`: how long a message may take.
  explicit Unfinished(std::chrono::milliseconds patience);
  ~Unfinished();
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  Ticket Add(std::function<void()> cancel) ABSL_LOCKS_EXCLUDED(mutex_);
  // The message is here, or the call is over. `cancel` is not called any more once this returns.
  void Remove(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Call {
    std::chrono::steady_clock::time_point until;
    std::function<void()> cancel;
  };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HangUpLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBackLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::chrono::milliseconds patience_;

  Mutex mutex_;
  CondVar wake_;
  Ticket last_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Ticket, Call> calls_ ABSL_GUARDED_BY(mutex_);  // and so by time
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: starts when all else is there
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_UNFINISHED_H_
