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
#include "common/thread.h"

namespace tensorhub::rpc {
namespace {

// For what is allocated; stacks come on top, with their threads.
constexpr size_t kAddressBytes = size_t{128} << 20;

// gRPC's are about one and a half per processor up to 32 of those, and a few; ours are six.
size_t ThreadsAtStart() {
  return 16 + 2 * std::clamp(std::thread::hardware_concurrency(), 1u, 32u);
}

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
  absl::Status threads = CheckRoomForThreads("this server", ThreadsAtStart());
  if (!threads.ok()) return threads;
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
