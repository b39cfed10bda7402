// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/runtime/inbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "common/check.h"

namespace tensorhub::agent {

Inbox::Inbox() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { TH_CHECK(fd_ >= 0); }

Inbox::~Inbox() { close(fd_); }

bool Inbox::Post(Task task) {
  MutexLock lock(mutex_);
  if (closed_) return false;
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) {
    const uint64_t one = 1;
    // Fails only where the counter is full, and then the fd is readable anyway.
    [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof(one));
  }
  return true;
}

void Inbox::Close() {
  std::vector<Task> dropped;  // destroyed after the lock: tasks own other people's objects
  MutexLock lock(mutex_);
  closed_ = true;
  dropped.swap(tasks_);
}

bool Inbox::RunOnLoop() {
  {
    MutexLock lock(mutex_);
    if (tasks_.empty()) return false;
    running_.swap(tasks_);
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(fd_, &count, sizeof(count));
  }
  for (Task& task : running_) task();
  running_.clear();
  return true;
}

}  // namespace tensorhub::agent
