// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/leave_on_signal.h"

namespace tensorhub::ctl {

LeaveOnSignal::LeaveOnSignal(std::chrono::milliseconds drain)
    : drain_(drain), signals_([this](int signal) { Leave(signal); }) {}

void LeaveOnSignal::Watch(tensorhub::Client& client) {
  MutexLock lock(mutex_);
  client_ = &client;
}

void LeaveOnSignal::Unwatch() {
  MutexLock lock(mutex_);
  client_ = nullptr;
}

// The lock is kept to the end: nobody destroys the client meanwhile.
void LeaveOnSignal::Leave(int signal) {
  MutexLock lock(mutex_);
  if (client_ != nullptr) static_cast<void>(client_->Leave({.drain_timeout = drain_}));
  ExitNow(ExitCodeOf(signal));
}

}  // namespace tensorhub::ctl
