// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORHUB_TESTS_SIM_PLACE_H_
#define TENSORHUB_TESTS_SIM_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/layout.h"
#include "common/location.h"
#include "tests/sim/agenda.h"

namespace tensorhub::fault {

// What a place is for all the processes that live in it.
struct Place {
  size_t number = 0;
  WorkerKey key;
  uint32_t world_size = 1;
  Location location;
  std::string host;
  std::shared_ptr<const Layout> layout;
  // Which cells of the model it holds; null: a shard of its rank's own.
  std::shared_ptr<const std::vector<uint32_t>> cells;
  uint32_t sharding = 0;  // equal for groups that cut their model alike; 0: as it is published
  bool one_sided = false;
  bool spot = false;
  Nanos slowness = 0;  // of its links
  uint64_t frame_bytes = 0;
  uint32_t copies = 0;  // that it has host memory for
  std::string copy_of;  // a copy's: the group whose process keeps it
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_PLACE_H_
