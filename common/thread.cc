// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/thread.h"

#include <unistd.h>

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"

namespace tensorhub {
namespace {

constexpr char kRemedy[] =
    "raise the limit of processes (ulimit -u, TasksMax, a container's pids), or of address space "
    "(ulimit -v)";

// Threads that do nothing until this object goes.
class IdleThreads {
 public:
  ~IdleThreads() {
    {
      MutexLock lock(mutex_);
      over_ = true;
      end_.NotifyAll();
    }
    for (std::thread& thread : threads_) thread.join();
  }
  // How many there are.
  size_t StartUpTo(size_t count) {
    while (threads_.size() < count) {
      absl::StatusOr<std::thread> started = StartThread("a look", [this] { AwaitEnd(); });
      if (!started.ok()) break;
      threads_.push_back(*std::move(started));
    }
    return threads_.size();
  }

 private:
  void AwaitEnd() {
    MutexLock lock(mutex_);
    while (!over_) end_.Wait(mutex_);
  }

  Mutex mutex_;
  CondVar end_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace

absl::StatusOr<std::thread> StartThread(std::string_view what, std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot start a thread for ",
                                                     std::string(what), ": ",
                                                     error.code().message(), "; ", kRemedy));
  }
}

std::thread StartThreadOrEnd(std::string_view what, std::function<void()> body) {
  absl::StatusOr<std::thread> thread = StartThread(what, std::move(body));
  if (thread.ok()) return *std::move(thread);
  const std::string line = absl::StrCat(std::string(thread.status().message()), "\n");
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  _exit(1);
}

void RunInThreads(size_t threads, const std::function<void()>& body) {
  std::vector<std::thread> others;
  while (others.size() + 1 < threads) {
    absl::StatusOr<std::thread> other = StartThread("a part", body);
    if (!other.ok()) break;
    others.push_back(*std::move(other));
  }
  body();
  for (std::thread& other : others) other.join();
}

absl::Status CheckRoomForThreads(std::string_view what, size_t threads) {
  IdleThreads idle;
  const size_t started = idle.StartUpTo(threads);
  if (started == threads) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("no more than ", started, " of the ", threads,
                                                   " threads for ", std::string(what),
                                                   " can be started; ", kRemedy));
}

}  // namespace tensorhub
