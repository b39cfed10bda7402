// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A thread that waits for the disk in somebody else's place: one commit at a time.
//
// Thread contract: Begin and the destructor on the owner's thread. `done` runs on this one and must
// not block; the owner may call Begin again only after it.

#ifndef TENSORHUB_SERVER_STORE_COMMIT_THREAD_H_
#define TENSORHUB_SERVER_STORE_COMMIT_THREAD_H_

#include <functional>
#include <optional>
#include <thread>

#include "common/mutex.h"
#include "server/store/store.h"

namespace tensorhub::store {

class CommitThread {
 public:
  using Done = std::function<void(const absl::Status&)>;

  // `store` is this thread's from Begin until `done`.
  CommitThread(Store& store, Done done);
  ~CommitThread();  // after `done` of what has begun
  CommitThread(const CommitThread&) = delete;
  CommitThread& operator=(const CommitThread&) = delete;

  void Begin(hub::Persist rows);

 private:
  void Run();
  std::optional<hub::Persist> Take();

  Store& store_;
  const Done done_;

  Mutex mutex_;
  CondVar wake_;
  std::optional<hub::Persist> rows_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: starts when all else is there
};

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_COMMIT_THREAD_H_
