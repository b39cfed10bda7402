// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/signals.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <initializer_list>
#include <string>
#include <thread>

#include "common/thread.h"

namespace tensorhub {
namespace {

constexpr std::chrono::milliseconds kFirstSignal(300);

// The server's own, to wake WaitForNews. What they tell is in the flags beside them.
constexpr int kFailedSignal = SIGUSR1;
constexpr int kElectedSignal = SIGUSR2;
std::atomic<bool> g_failed = false;
std::atomic<bool> g_elected = false;

sigset_t SignalSet(std::initializer_list<int> of) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : of) sigaddset(&signals, signal);
  return signals;
}

sigset_t AllSignals() {
  return SignalSet({SIGTERM, SIGINT, SIGHUP, kFailedSignal, kElectedSignal});
}

const char* NameOf(int signal) { return signal == SIGTERM ? "SIGTERM" : "SIGINT"; }

}  // namespace

void BlockSignals() {
  const sigset_t signals = AllSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the store
}

int Failed(const absl::Status& status) {
  spdlog::error("{}", std::string(status.message()));
  return 1;
}

void EndFor(const absl::Status& why) {
  if (g_failed.exchange(true)) return;
  Failed(why);
  kill(getpid(), kFailedSignal);
}

bool HasFailed() { return g_failed; }

void TellElected() {
  g_elected = true;
  kill(getpid(), kElectedSignal);
}

// The server's own signals may also be somebody else's.
News WaitForNews(const std::function<void()>& reload) {
  const sigset_t signals = AllSignals();
  while (true) {
    int received = 0;
    sigwait(&signals, &received);
    if (g_failed) return News::kFailed;
    if (received == SIGHUP) reload();
    if (received == SIGTERM || received == SIGINT) {
      spdlog::info("stopping: received {}; once more ends it at once", NameOf(received));
      return News::kStop;
    }
    if (received == kElectedSignal && g_elected.exchange(false)) return News::kElected;
  }
}

void EndAtOnceIfAsked() {
  absl::StatusOr<std::thread> ending = StartThread("the second signal", [] {
    const sigset_t signals = SignalSet({SIGTERM, SIGINT});
    // A terminal and a launcher may both send the first.
    std::this_thread::sleep_for(kFirstSignal);
    timespec none = {};
    while (sigtimedwait(&signals, nullptr, &none) > 0) continue;
    int received = 0;
    sigwait(&signals, &received);
    _exit(128 + received);
  });
  if (ending.ok()) ending->detach();
}

}  // namespace tensorhub
