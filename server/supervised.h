// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A server as its supervisor sees it: ready, alive, stopping (common/cli/supervisor.h).

#ifndef TENSORHUB_SERVER_SUPERVISED_H_
#define TENSORHUB_SERVER_SUPERVISED_H_

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "common/mutex.h"

namespace tensorhub {

// Nothing, until it is Ready; then, where the supervisor watches, three signs of life in the time
// that it allows for one; STOPPING at its end.
//
// Whoever leads or stands by gives the sign, whatever the disk does: a thread that is stuck is
// mended by a restart, a disk that hangs is not.
//
// Thread contract: the owner's thread.
class Supervised {
 public:
  // Has `sign` called soon, on whichever thread is to be seen alive.
  using GiveSign = std::function<void(std::function<void()> sign)>;

  Supervised() = default;
  ~Supervised() { Stopping(); }
  Supervised(const Supervised&) = delete;
  Supervised& operator=(const Supervised&) = delete;

  // Says READY with `status`. Once more: another one gives signs from now on.
  void Ready(GiveSign give_sign, const std::string& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the signs: whoever gave them is not called any more. Again: nothing.
  void Stopping() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void GiveSigns(std::chrono::microseconds pause) ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  CondVar wake_;
  GiveSign give_sign_ ABSL_GUARDED_BY(mutex_);
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // where it is watched
};

}  // namespace tensorhub

#endif  // TENSORHUB_SERVER_SUPERVISED_H_
