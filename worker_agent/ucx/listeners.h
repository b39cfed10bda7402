// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The sockets that a worker of UCX takes connections by. UCX closes such a socket, for good and
// without a word, when one accept fails: the process was out of descriptors for a moment, say. New
// peers are refused then, while those that are connected go on as ever.
//
// Thread contract: any thread.

#ifndef TENSORHUB_WORKER_AGENT_UCX_LISTENERS_H_
#define TENSORHUB_WORKER_AGENT_UCX_LISTENERS_H_

#include <sys/types.h>

#include <compare>
#include <vector>

#include "absl/functional/function_ref.h"

namespace tensorhub::agent {

class Listeners {
 public:
  // Listeners that come to be while `open` runs. One runs at a time, so that nothing that another
  // one opens counts. Costs two system calls per descriptor of the process.
  static Listeners OpenedBy(absl::FunctionRef<void()> open);
  // Whether each of them still is.
  bool AllThere() const;
  // Uses the numbers of those that are gone for something else, for good: UCX remembers them, and
  // makes no worker whose socket has one of them (1.13.1: "Element already exists").
  void KeepNumbers() const;

 private:
  struct Socket {
    int fd = -1;
    ino_t inode = 0;  // tells it from what has its number later
    auto operator<=>(const Socket&) const = default;
  };

  // All that this process has now.
  static Listeners Now();

  std::vector<Socket> sockets_;  // sorted
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_LISTENERS_H_
