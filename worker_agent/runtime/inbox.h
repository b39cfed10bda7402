// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How other threads (the client's, gRPC's) reach the progress thread: tasks that run on it, and a
// file descriptor that wakes it.
//
// Thread contract: Post and Close from any thread; the rest on the progress thread.

#ifndef TENSORHUB_WORKER_AGENT_RUNTIME_INBOX_H_
#define TENSORHUB_WORKER_AGENT_RUNTIME_INBOX_H_

#include <functional>
#include <vector>

#include "common/mutex.h"

namespace tensorhub::agent {

class Inbox {
 public:
  using Task = std::function<void()>;

  Inbox();
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // False, and the task is dropped, once closed.
  bool Post(Task task) ABSL_LOCKS_EXCLUDED(mutex_);
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  // Runs what has been posted up to now, in order; false if there was nothing.
  bool RunOnLoop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Readable while tasks wait.
  int fd() const { return fd_; }

 private:
  const int fd_;
  std::vector<Task> running_;  // reused, so that a busy inbox allocates nothing
  Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_RUNTIME_INBOX_H_
