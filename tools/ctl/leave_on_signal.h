// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// SIGTERM, as a machine sends it that is about to be taken away, and SIGINT: the client leaves in
// order, so that its readers go on elsewhere and the server need not wait for a lease; then the
// process ends, whatever its other threads wait for.
//
// Make it before any other thread exists, as SignalThread, and Watch after the client's Connect.

#ifndef TENSORHUB_TOOLS_CTL_LEAVE_ON_SIGNAL_H_
#define TENSORHUB_TOOLS_CTL_LEAVE_ON_SIGNAL_H_

#include <chrono>

#include "common/mutex.h"
#include "tensorhub/ros.h"
#include "tools/ctl/signals.h"

namespace tensorhub::ctl {

class LeaveOnSignal {
 public:
  // `drain`: how long readers that have no other source may go on reading.
  explicit LeaveOnSignal(std::chrono::milliseconds drain);

  // From now on until Unwatch or the end of this object, either of which comes before the client's.
  // Neither returns while the client leaves because of a signal: the process ends then.
  void Watch(tensorhub::Client& client) ABSL_LOCKS_EXCLUDED(mutex_);
  void Unwatch() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  [[noreturn]] void Leave(int signal) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::chrono::milliseconds drain_;
  Mutex mutex_;
  tensorhub::Client* client_ ABSL_GUARDED_BY(mutex_) = nullptr;
  SignalThread signals_;
};

// For as long as this lives; declared after the client, so that it goes first.
class Watching {
 public:
  Watching(LeaveOnSignal& leaving, tensorhub::Client& client) : leaving_(leaving) {
    leaving_.Watch(client);
  }
  ~Watching() { leaving_.Unwatch(); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  LeaveOnSignal& leaving_;
};

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_LEAVE_ON_SIGNAL_H_
