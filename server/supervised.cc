// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/supervised.h"

#include "common/cli/supervisor.h"

namespace tensorhub {

Supervised::Supervised(rpc::RpcServer& server, const std::string& status) : server_(server) {
  cli::TellSupervisor("READY=1\nSTATUS=" + status);
  if (const auto patience = cli::WatchdogPatience()) {
    thread_ = std::thread([this, pause = *patience / 3] { GiveSigns(pause); });
  }
}

Supervised::~Supervised() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  cli::TellSupervisor("STOPPING=1\nSTATUS=stopping");
}

void Supervised::GiveSigns(std::chrono::microseconds pause) {
  MutexLock lock(mutex_);
  while (!ends_) {
    server_.GiveSign([] { cli::TellSupervisor("WATCHDOG=1"); });
    const auto next = std::chrono::steady_clock::now() + pause;
    while (!ends_ && wake_.WaitUntil(mutex_, next)) continue;
  }
}

}  // namespace tensorhub
