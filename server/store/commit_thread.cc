// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/commit_thread.h"

#include <utility>

#include "common/check.h"
#include "common/thread.h"

namespace tensorhub::store {

CommitThread::CommitThread(Store& store, Done done)
    : store_(store),
      done_(std::move(done)),
      thread_(StartThreadOrEnd("the store", [this] { Run(); })) {}

CommitThread::~CommitThread() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
}

void CommitThread::Begin(hub::Persist rows) {
  MutexLock lock(mutex_);
  TH_CHECK(!rows_);
  rows_ = std::move(rows);
  wake_.NotifyAll();
}

void CommitThread::Run() {
  while (const std::optional<hub::Persist> rows = Take()) done_(store_.Commit(*rows));
}

std::optional<hub::Persist> CommitThread::Take() {
  MutexLock lock(mutex_);
  while (!rows_ && !stopping_) wake_.Wait(mutex_);
  return std::exchange(rows_, std::nullopt);
}

}  // namespace tensorhub::store
