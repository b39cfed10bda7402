// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORHUB_TESTS_UNIT_SEEDS_TO_TRY_H_
#define TENSORHUB_TESTS_UNIT_SEEDS_TO_TRY_H_

#include <cstdint>

namespace tensorhub {

// How many seeds a test of random operations tries: all in the ordinary build; under a sanitizer,
// which takes ten times as long, it is the memory and not the interleavings that are looked at.
constexpr uint64_t SeedsToTry(uint64_t all) {
#ifdef TENSORHUB_SANITIZED
  return all / 8;
#else
  return all;
#endif
}

}  // namespace tensorhub

#endif  // TENSORHUB_TESTS_UNIT_SEEDS_TO_TRY_H_
