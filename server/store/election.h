// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which of several servers leads. Whoever wins has raised the epoch (R8), and gets the store; what
// the store keeps is fenced, so that a leader that has been replaced and does not know it keeps
// nothing. The lease is for being replaced in time; nothing that must be right rests on it.
//
// Thread contract: Prepare, Campaign, OpenStore, Hold and the destructor on the owner's threads,
// one at a time; Depose, Resign and Stop on any, at any time. The listener is called on the thread
// of Campaign (on_leader), or on one of the election's own, and must not block.

#ifndef TENSORHUB_SERVER_STORE_ELECTION_H_
#define TENSORHUB_SERVER_STORE_ELECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/store/store.h"

namespace tensorhub::store {

struct Leader {
  std::string address;  // by which agents reach it
  std::string version;  // of its program
  Id128 store_id;
  uint64_t epoch = 0;
  int64_t term = 0;  // the election's own name for this leadership
  bool operator==(const Leader&) const = default;
};

class Election {
 public:
  struct Listener {
    // Told who leads, as far as is known: when it changes, until this server leads.
    std::function<void(const std::optional<Leader>&)> on_leader;
    // True: the lease was not renewed in time, and another may lead soon. False: it was, after all.
    std::function<void(bool)> on_doubt;
    // Once: another server leads, or may; this one has to end.
    std::function<void(const absl::Status&)> on_lost;
  };

  virtual ~Election() = default;

  // Whether the place is a hub's, and one that this program can read; makes it one if it is empty.
  // FAILED_PRECONDITION names what is there instead. Waits while nobody answers; CANCELLED: Stop.
  virtual absl::Status Prepare() = 0;
  // Returns when this server leads. CANCELLED: Stop.
  virtual absl::Status Campaign() = 0;
  // Renews the lease from now on, and looks whether this server still leads.
  virtual void Hold() = 0;
  // The leader's store, once Campaign has returned OK. Ends before the election does.
  virtual std::unique_ptr<Store> OpenStore() = 0;

  // Deposes a leader that is known to be dead: the lease is not waited for. If it was wrong, it is
  // a needless change of the leader, and no wrong decision.
  virtual void Depose(const Leader& leader) = 0;
  // The next leader need not wait for the lease. Call it when nothing more is to be kept.
  virtual void Resign() = 0;
  // What waits, in the store as well, ends with CANCELLED.
  virtual void Stop() = 0;
};

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_ELECTION_H_
