// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where the hub's durable rows are kept. What they mean is the core's business
// (server/core/durable.h); a store keeps them whole and in order, whatever it is made of.
//
// Thread contract: one thread at a time; Load first, once.

#ifndef TENSORHUB_SERVER_STORE_STORE_H_
#define TENSORHUB_SERVER_STORE_STORE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/durable.h"
#include "server/store/identity.h"

namespace tensorhub::store {

struct Loaded {
  ServerIdentity identity;
  bool earlier_life = false;  // a server has used this data before: its workers will come back
  hub::DurableState state;
};

class Store {
 public:
  virtual ~Store() = default;

  // The epoch in it is higher than any before, and kept.
  virtual absl::StatusOr<Loaded> Load() = 0;

  // Keeps all of the rows or none. OK: they survive whatever happens to this process and machine.
  // An error is one line that says what to do, and the end: whether the rows were kept is not
  // known, nothing may rest on them or on later ones, and the server has to be started anew.
  virtual absl::Status Commit(const hub::Persist& rows) = 0;

  // Whether Commit waits for a disk or a network, so that it needs a thread of its own.
  virtual bool blocks() const = 0;
};

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_STORE_H_
