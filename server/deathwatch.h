// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Proof that another server is dead, so that its lease need not be waited for. A connection to its
// address is held. When that ends, and two connects in a row are refused, nobody listens there any
// more: the kernel of its host is alive and says so, and the process is not. A host that is gone,
// or cut off, refuses nothing: of it there is no proof. An address behind which something else
// refuses (a virtual one without a server) may give a wrong one, which changes the leader and no
// decision.
//
// Thread contract: any thread; `on_dead` is called on one of its own.

#ifndef TENSORHUB_SERVER_DEATHWATCH_H_
#define TENSORHUB_SERVER_DEATHWATCH_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "server/store/election.h"

namespace tensorhub {

class Deathwatch {
 public:
  using OnDead = std::function<void(const store::Leader&)>;

  explicit Deathwatch(OnDead on_dead);
  ~Deathwatch();
  Deathwatch(const Deathwatch&) = delete;
  Deathwatch& operator=(const Deathwatch&) = delete;

  // From now on this one; none: nobody.
  void Watch(const std::optional<store::Leader>& leader) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run();
  // False: it is to end. Waits until there is somebody.
  bool Next(store::Leader& leader) ABSL_LOCKS_EXCLUDED(mutex_);
  bool Still(const store::Leader& leader) ABSL_LOCKS_EXCLUDED(mutex_);
  void HoldOn(const store::Leader& leader);
  bool IsDead(const store::Leader& leader);
  void Pause(std::chrono::milliseconds time) ABSL_LOCKS_EXCLUDED(mutex_);

  const OnDead on_dead_;
  Mutex mutex_;
  CondVar wake_;
  std::optional<store::Leader> leader_ ABSL_GUARDED_BY(mutex_);
  std::optional<store::Leader> reached_;  // the thread's: the last one that it had a connection to
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace tensorhub

#endif  // TENSORHUB_SERVER_DEATHWATCH_H_
