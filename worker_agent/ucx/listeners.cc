// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/listeners.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "common/mutex.h"

namespace tensorhub::agent {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// The inode of a socket that listens.
std::optional<ino_t> InodeOf(int fd) {
  int listens = 0;
  socklen_t bytes = sizeof(listens);
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0) return std::nullopt;
  struct stat is = {};
  if (listens == 0 || fstat(fd, &is) != 0) return std::nullopt;
  return is.st_ino;
}

}  // namespace

Listeners Listeners::Now() {
  Listeners now;
  const std::unique_ptr<DIR, CloseFolder> folder(opendir("/proc/self/fd"));
  while (folder != nullptr) {
    const dirent* const entry = readdir(folder.get());
    if (entry == nullptr) break;
    int fd = -1;
    if (!absl::SimpleAtoi(entry->d_name, &fd)) continue;  // "." and ".."
    if (const std::optional<ino_t> inode = InodeOf(fd)) now.sockets_.push_back({fd, *inode});
  }
  std::sort(now.sockets_.begin(), now.sockets_.end());
  return now;
}

Listeners Listeners::OpenedBy(absl::FunctionRef<void()> open) {
  static Mutex& one_at_a_time = *new Mutex;
  MutexLock lock(one_at_a_time);
  const Listeners before = Now();
  open();
  const Listeners after = Now();
  Listeners opened;
  std::set_difference(after.sockets_.begin(), after.sockets_.end(), before.sockets_.begin(),
                      before.sockets_.end(), std::back_inserter(opened.sockets_));
  return opened;
}

bool Listeners::AllThere() const {
  return std::all_of(sockets_.begin(), sockets_.end(),
                     [](const Socket& socket) { return InodeOf(socket.fd) == socket.inode; });
}

void Listeners::KeepNumbers() const {
  for (const Socket& socket : sockets_) {
    if (fcntl(socket.fd, F_GETFD) >= 0) continue;
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing == socket.fd) continue;
    const int kept = fcntl(nothing, F_DUPFD_CLOEXEC, socket.fd);
    if (kept >= 0 && kept != socket.fd) close(kept);  // another thread was quicker
    if (nothing >= 0) close(nothing);
  }
}

}  // namespace tensorhub::agent
