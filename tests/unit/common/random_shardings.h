// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random groups that cut the same random tensors, each in its own way, and what their byte spaces
// hold, element by element: nothing here shares code or ideas with the plan library.

#ifndef TENSORHUB_TESTS_UNIT_COMMON_RANDOM_SHARDINGS_H_
#define TENSORHUB_TESTS_UNIT_COMMON_RANDOM_SHARDINGS_H_

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "common/random.h"
#include "common/sharding.h"

namespace tensorhub {

struct TestTensor {
  std::string name;
  DType dtype = DType::kU8;
  std::vector<uint64_t> shape;
};

struct TestBox {
  std::vector<uint64_t> offset;
  std::vector<uint64_t> shape;
  auto operator<=>(const TestBox&) const = default;
};

// A slice as somebody holds it.
struct TestSlice {
  size_t tensor = 0;
  TestBox box;
  uint64_t byte_offset = 0;
};

// One rank's slices in order, dense or with gaps.
struct TestShard {
  std::vector<TestSlice> slices;
  uint64_t total_bytes = 0;
};

struct TestGroup {
  std::vector<TestShard> by_rank;
  // Boxes of a tensor on one rank lie side by side, or overlap: a plan may be refused because a
  // stream would not be in order.
  bool may_be_out_of_order = false;
};

// Up to `count_max` tensors of few elements, in the order of their names.
std::vector<TestTensor> RandomTensors(Random& random, size_t count_max);
// A group that holds them all; or, if `may_lack`, sometimes not quite.
TestGroup RandomGroup(Random& random, const std::vector<TestTensor>& tensors, bool may_lack);

// The library's input. It refers to both.
ShardSlices SlicesOf(const TestShard& shard, const std::vector<TestTensor>& tensors);
// Null for ranks that are not in `ranks`, if that is given.
absl::StatusOr<Sharding> ShardingOf(const TestGroup& group, const std::vector<TestTensor>& tensors,
                                    const std::set<Rank>* ranks = nullptr);

// What each half byte of a shard's space holds: a number that no other half byte of the model has.
// 0: nothing.
std::vector<uint64_t> MemoryOf(const TestShard& shard, const std::vector<TestTensor>& tensors);

}  // namespace tensorhub

#endif  // TENSORHUB_TESTS_UNIT_COMMON_RANDOM_SHARDINGS_H_
