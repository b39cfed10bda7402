// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The heartbeats of a worker whose progress thread stands still, and sends none (R8). They come
// from the thread that watches it.
//
// Thread contract: Use and Drop on the progress thread, Beat on any.

#ifndef TENSORHUB_WORKER_AGENT_HUB_PULSE_H_
#define TENSORHUB_WORKER_AGENT_HUB_PULSE_H_

#include <chrono>
#include <memory>
#include <utility>

#include "common/mutex.h"
#include "common/time.h"
#include "protocol/codec/reports.h"
#include "worker_agent/hub/session.h"

namespace tensorhub::agent {

class Pulse {
 public:
  // The session that is up, and how often the hub wants to hear.
  void Use(std::shared_ptr<HubSession> session, TimeMs every_ms) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    session_ = std::move(session);
    every_ = std::chrono::milliseconds(every_ms);
  }
  void Drop() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<HubSession> last;  // ends after the lock
    MutexLock lock(mutex_);
    last = std::move(session_);
  }
  // Says it, if it is time to.
  void Beat(TimeMs stalled_ms) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (session_ == nullptr || now < next_) return;
    next_ = now + every_;
    session_->Send(protocol::Encode(protocol::Heartbeat{.stalled_ms = stalled_ms}));
  }

 private:
  Mutex mutex_;
  std::shared_ptr<HubSession> session_ ABSL_GUARDED_BY(mutex_);
  std::chrono::milliseconds every_ ABSL_GUARDED_BY(mutex_){1000};
  std::chrono::steady_clock::time_point next_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_PULSE_H_
