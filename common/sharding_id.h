// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a sharding is known by: see common/sharding.h.

#ifndef TENSORHUB_COMMON_SHARDING_ID_H_
#define TENSORHUB_COMMON_SHARDING_ID_H_

#include <span>

#include "common/ids.h"

namespace tensorhub {

// A hash of the world size and the ranks' layouts.
using ShardingId = Id128;
ShardingId IdOfSharding(std::span<const Fingerprint> by_rank);

// In which sharding somebody reads or holds a version, as hub and workers tell each other. Empty:
// as it was published.
struct ShardingRef {
  ShardingId id;
  bool full = false;  // R7: its shards together are all of the version

  explicit operator bool() const { return static_cast<bool>(id); }
  bool operator==(const ShardingRef&) const = default;
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_SHARDING_ID_H_
