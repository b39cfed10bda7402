// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which of several holders a reader is given (R5; docs/architecture.md, "Source selection").

#ifndef TENSORHUB_SERVER_CORE_SOURCE_SELECTION_H_
#define TENSORHUB_SERVER_CORE_SOURCE_SELECTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/location.h"

namespace tensorhub::hub {

struct Candidate {
  WorkerKey worker;
  Tier tier = Tier::kRemote;
  uint32_t readers = 0;  // counted from assignment
  uint32_t valid_chunks = 0;
  bool behind = false;  // has less than the reader has already
  bool stable = true;
};

// Ahead of the reader before behind it; then the nearest tier; then those with a free place before
// those that feed `readers_per_source` already; then the fewest readers, the most progress, stable
// before spot, and the name, so that equal inputs give equal choices.
bool IsBetter(const Candidate& a, const Candidate& b, uint32_t readers_per_source);

std::optional<Candidate> Best(const std::vector<Candidate>& candidates,
                              uint32_t readers_per_source);

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_SOURCE_SELECTION_H_
