// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/memory_store.h"

#include <chrono>

namespace tensorhub::store {

absl::StatusOr<Loaded> MemoryStore::Load() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  Loaded loaded;
  loaded.identity.epoch = static_cast<uint64_t>(ms);
  return loaded;
}

}  // namespace tensorhub::store
