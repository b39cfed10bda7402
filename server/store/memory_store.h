// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The store of a server without a data directory: nothing is kept. It has no store id, and the wall
// clock as epoch, so that a restart counts as later.

#ifndef TENSORHUB_SERVER_STORE_MEMORY_STORE_H_
#define TENSORHUB_SERVER_STORE_MEMORY_STORE_H_

#include "server/store/store.h"

namespace tensorhub::store {

class MemoryStore final : public Store {
 public:
  absl::StatusOr<Loaded> Load() override;
  absl::Status Commit(const hub::Persist&) override { return absl::OkStatus(); }
  bool blocks() const override { return false; }
};

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_MEMORY_STORE_H_
