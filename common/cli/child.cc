// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tensorhub::cli {

// The kernel sends the signal, so that no thread waits for it.
ErrorText EndWithInput() {
  constexpr int kInput = STDIN_FILENO;
  struct stat input = {};
  if (fstat(kInput, &input) != 0 || !S_ISFIFO(input.st_mode)) {
    return "needs a pipe as standard input, of which the parent holds the other end";
  }
  const int flags = fcntl(kInput, F_GETFL);
  const bool asked = flags >= 0 && fcntl(kInput, F_SETOWN, getpid()) == 0 &&
                     fcntl(kInput, F_SETSIG, SIGTERM) == 0 &&
                     fcntl(kInput, F_SETFL, flags | O_ASYNC) == 0;
  if (!asked) return "this system does not tell when a pipe ends";
  pollfd ended = {kInput, 0, 0};  // before that nobody was told
  if (poll(&ended, 1, 0) > 0) kill(getpid(), SIGTERM);
  return std::nullopt;
}

}  // namespace tensorhub::cli
