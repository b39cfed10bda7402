// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/supervised.h"

#include <utility>

#include "common/cli/supervisor.h"
#include "common/thread.h"

namespace tensorhub {

void Supervised::Ready(GiveSign give_sign, const std::string& status) {
  {
    MutexLock lock(mutex_);
    give_sign_ = std::move(give_sign);
    ready_ = true;
  }
  cli::TellSupervisor("READY=1\nSTATUS=" + status);
  if (thread_.joinable()) return;
  if (const auto patience = cli::WatchdogPatience()) {
    thread_ =
        StartThreadOrEnd("signs of life", [this, pause = *patience / 3] { GiveSigns(pause); });
  }
}

void Supervised::Stopping() {
  bool tell = false;
  {
    MutexLock lock(mutex_);
    tell = ready_ && !ends_;
    ends_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  if (tell) cli::TellSupervisor("STOPPING=1\nSTATUS=stopping");
}

void Supervised::GiveSigns(std::chrono::microseconds pause) {
  MutexLock lock(mutex_);
  while (!ends_) {
    give_sign_([] { cli::TellSupervisor("WATCHDOG=1"); });
    const auto next = std::chrono::steady_clock::now() + pause;
    while (!ends_ && wake_.WaitUntil(mutex_, next)) continue;
  }
}

}  // namespace tensorhub
