// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Lists, equal ones kept once, in one piece of memory: shapes and boxes, of which a model of many
// thousand tensors has a few dozen.

#ifndef TENSORHUB_COMMON_INTERNED_LISTS_H_
#define TENSORHUB_COMMON_INTERNED_LISTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "common/check.h"

namespace tensorhub {

// Items can be compared and hashed (absl::HashOf).
template <typename Item>
class InternedLists {
 public:
  using List = std::span<const Item>;

  InternedLists() = default;
  // The look-up refers to the object's own memory.
  InternedLists(const InternedLists&) = delete;
  InternedLists& operator=(const InternedLists&) = delete;

  // Where the list begins in what Take gives. Lists of different lengths are different.
  uint32_t Intern(List list) {
    const auto known = places_.find(list);
    if (known != places_.end()) return known->begin;
    TH_CHECK(all_.size() + list.size() < std::numeric_limits<uint32_t>::max());
    const Place place = {static_cast<uint32_t>(all_.size()), static_cast<uint32_t>(list.size())};
    all_.insert(all_.end(), list.begin(), list.end());
    places_.insert(place);
    return place.begin;
  }
  // Ends it.
  std::vector<Item> Take() && {
    places_.clear();
    all_.shrink_to_fit();
    return std::move(all_);
  }

 private:
  struct Place {
    uint32_t begin = 0;
    uint32_t size = 0;
    List in(const std::vector<Item>& all) const { return List(all).subspan(begin, size); }
  };
  // Looked up by what they are, not by where they lie.
  struct Hash {
    using is_transparent = void;
    const std::vector<Item>* all;
    size_t operator()(List list) const {
      size_t hash = list.size();
      for (const Item& item : list) hash = absl::HashOf(hash, item);
      return hash;
    }
    size_t operator()(const Place& place) const { return (*this)(place.in(*all)); }
  };
  struct Equal {
    using is_transparent = void;
    const std::vector<Item>* all;
    bool operator()(const Place& a, List b) const {
      const List list = a.in(*all);
      return std::equal(list.begin(), list.end(), b.begin(), b.end());
    }
    bool operator()(const Place& a, const Place& b) const {
      return a.begin == b.begin && a.size == b.size;
    }
  };

  std::vector<Item> all_;
  absl::flat_hash_set<Place, Hash, Equal> places_{0, Hash{&all_}, Equal{&all_}};
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_INTERNED_LISTS_H_
