// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the targets share that play with one agent of the unit tests' world.

#ifndef TENSORHUB_TESTS_FUZZ_AGENT_WORLD_H_
#define TENSORHUB_TESTS_FUZZ_AGENT_WORLD_H_

#include <string_view>

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::fuzz {

inline constexpr Incarnation kStranger = 7777;  // a peer that the target plays
inline constexpr VersionNumber kPublished = 5;
inline constexpr VersionNumber kFetched = 6;
inline constexpr uint64_t kChunkBytes = 4096;

// World's expectations, outside a test: what throws here ends the program.
template <typename Play>
void RunInWorld(std::string_view input) {
  GTEST_FLAG_SET(throw_on_failure, true);
  [&]() noexcept { Play(input).Run(); }();
}

}  // namespace tensorhub::fuzz

#endif  // TENSORHUB_TESTS_FUZZ_AGENT_WORLD_H_
