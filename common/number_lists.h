// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Lists of numbers, equal ones kept once, in one piece of memory: shapes and boxes, of which a
// model of many thousand tensors has a few dozen.

#ifndef TENSORHUB_COMMON_NUMBER_LISTS_H_
#define TENSORHUB_COMMON_NUMBER_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace tensorhub {

class NumberLists {
 public:
  NumberLists() = default;
  // Its look-up refers to its own memory.
  NumberLists(const NumberLists&) = delete;
  NumberLists& operator=(const NumberLists&) = delete;

  // Where the list begins in what Take gives. Lists of different lengths are different.
  uint32_t Intern(std::span<const uint64_t> list);
  // Ends it.
  std::vector<uint64_t> Take() &&;

 private:
  struct Place {
    uint32_t begin = 0;
    uint32_t size = 0;
  };
  // Looked up by what they are, not by where they lie.
  struct Hash {
    using is_transparent = void;
    const std::vector<uint64_t>* all;
    size_t operator()(std::span<const uint64_t> list) const;
    size_t operator()(const Place& place) const;
  };
  struct Equal {
    using is_transparent = void;
    const std::vector<uint64_t>* all;
    bool operator()(const Place& a, std::span<const uint64_t> b) const;
    bool operator()(const Place& a, const Place& b) const;
  };

  std::vector<uint64_t> all_;
  absl::flat_hash_set<Place, Hash, Equal> places_{0, Hash{&all_}, Equal{&all_}};
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_NUMBER_LISTS_H_
