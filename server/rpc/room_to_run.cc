// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/room_to_run.h"

#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"

namespace tensorhub::rpc {
namespace {

// For what is allocated; stacks come on top, with their threads.
constexpr size_t kAddressBytes = size_t{128} << 20;

// gRPC's are about one and a half per processor up to 32 of those, and a few; ours are six.
size_t ThreadsAtStart() {
  return 16 + 2 * std::clamp(std::thread::hardware_concurrency(), 1u, 32u);
}

// Threads that are there until this object goes.
class Threads {
 public:
  ~Threads() {
    {
      MutexLock lock(mutex_);
      over_ = true;
      end_.NotifyAll();
    }
    for (std::thread& thread : threads_) thread.join();
  }
  // How many there are.
  size_t StartUpTo(size_t count) {
    try {
      while (threads_.size() < count) threads_.emplace_back([this] { AwaitEnd(); });
    } catch (const std::system_error&) {
      // no more
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

bool CanTakeAddresses() {
  void* const taken =
      mmap(nullptr, kAddressBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return taken != MAP_FAILED && munmap(taken, kAddressBytes) == 0;
}

[[noreturn]] void EndForMemory() {
  constexpr std::string_view kLine =
      "tensorhub-server: no memory is left: raise the limit of address space (ulimit -v), or give "
      "it more memory\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kLine.data(), kLine.size());
  _exit(1);
}

}  // namespace

uint64_t AddressBytesMax() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

absl::Status CheckRoomToRun() {
  // Each thread would reserve 64 MiB for what it allocates, and leave none for the next one's
  // stack.
  if (AddressBytesMax() != UINT64_MAX) mallopt(M_ARENA_MAX, 1);
  const size_t wanted = ThreadsAtStart();
  Threads threads;
  const size_t started = threads.StartUpTo(wanted);
  if (started < wanted) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "can start no more than ", started, " of ", wanted,
        " threads; raise the limit of processes (ulimit -u, TasksMax, a container's pids), or of "
        "address space (ulimit -v)"));
  }
  if (CanTakeAddresses()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("can have no ", kAddressBytes >> 20,
                   " MiB of memory beside its threads; raise the limit of address space "
                   "(ulimit -v)"));
}

void EndWithAWordIfMemoryEnds() {
  std::set_new_handler([] { EndForMemory(); });
  if (AddressBytesMax() != UINT64_MAX) signal(SIGABRT, [](int /*signal*/) { EndForMemory(); });
}

}  // namespace tensorhub::rpc
