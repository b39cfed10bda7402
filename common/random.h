// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A small generator of our own (SplitMix64): the standard distributions differ between libraries,
// and a seed must give the same run everywhere. Not for secrets.

#ifndef TENSORHUB_COMMON_RANDOM_H_
#define TENSORHUB_COMMON_RANDOM_H_

#include <array>
#include <cstdint>

#include "common/ids.h"

namespace tensorhub {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [0, bound); bound > 0. The bias is below 2^-32 for the small bounds used here.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  uint64_t NextNonZero() {
    uint64_t value = Next();
    while (value == 0) value = Next();
    return value;
  }
  Id128 NextId() { return {NextNonZero(), Next()}; }

 private:
  uint64_t state_;
};

// From the operating system, which is asked nowhere else.
uint64_t RandomSeed();
// The same, for keys.
std::array<uint8_t, 32> RandomSecret();

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_RANDOM_H_
