// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/signals.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <utility>

#include "common/thread.h"

namespace tensorhub::ctl {
namespace {

// nohup and the like: the program is to outlive its terminal.
bool IsIgnored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t Watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (!IsIgnored(SIGHUP)) sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

SignalThread::SignalThread(Handler handler) : handler_(std::move(handler)) {
  const sigset_t set = Watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = StartThreadOrEnd("signals", [this] { Loop(); });
}

SignalThread::~SignalThread() {
  stop_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);  // wakes it
  thread_.join();
}

void SignalThread::Loop() {
  const sigset_t set = Watched();
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (stop_) return;
    handler_(signal);
  }
}

void ExitNow(int code) {
  std::fflush(stdout);
  ::_exit(code);
}

void Event::Raise() {
  MutexLock lock(mutex_);
  raised_ = true;
  changed_.NotifyAll();
}

bool Event::raised() {
  MutexLock lock(mutex_);
  return raised_;
}

bool Event::Wait(std::optional<std::chrono::milliseconds> limit) {
  MutexLock lock(mutex_);
  if (!limit) {
    while (!raised_) changed_.Wait(mutex_);
    return true;
  }
  // A year is for ever; much more overflows the clock.
  const auto bounded = std::min<std::chrono::milliseconds>(*limit, std::chrono::hours(24 * 365));
  const auto deadline = std::chrono::steady_clock::now() + bounded;
  while (!raised_) {
    if (!changed_.WaitUntil(mutex_, deadline)) break;
  }
  return raised_;
}

}  // namespace tensorhub::ctl
