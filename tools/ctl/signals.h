// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// SIGINT, SIGTERM, and SIGHUP unless it is ignored, as a call on a thread of their own, where it
// may do anything; a signal handler may do next to nothing.
//
// Make it before any other thread exists: threads inherit that the signals are blocked.

#ifndef TENSORHUB_TOOLS_CTL_SIGNALS_H_
#define TENSORHUB_TOOLS_CTL_SIGNALS_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "common/mutex.h"

namespace tensorhub::ctl {

class SignalThread {
 public:
  // Runs on the signal thread, one signal after the other.
  using Handler = std::function<void(int)>;

  explicit SignalThread(Handler handler);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  void Loop();

  const Handler handler_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// The shell's convention for a program that a signal ended.
inline int ExitCodeOf(int signal) { return 128 + signal; }

// Ends the process at once, after flushing standard output; for signal threads, while other
// threads run: no destructor may pull anything from under them.
[[noreturn]] void ExitNow(int code);

// A flag that one thread raises and another one awaits.
class Event {
 public:
  void Raise();
  bool raised();
  // False after `limit`; without one, never.
  bool Wait(std::optional<std::chrono::milliseconds> limit);

 private:
  Mutex mutex_;
  CondVar changed_;
  bool raised_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_SIGNALS_H_
