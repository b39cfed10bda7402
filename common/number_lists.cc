// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/number_lists.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/hash/hash.h"
#include "common/check.h"

namespace tensorhub {

size_t NumberLists::Hash::operator()(std::span<const uint64_t> list) const {
  size_t hash = list.size();
  for (uint64_t number : list) hash = absl::HashOf(hash, number);
  return hash;
}
size_t NumberLists::Hash::operator()(const Place& place) const {
  return (*this)(std::span(*all).subspan(place.begin, place.size));
}
bool NumberLists::Equal::operator()(const Place& a, std::span<const uint64_t> b) const {
  const auto list = std::span(*all).subspan(a.begin, a.size);
  return std::equal(list.begin(), list.end(), b.begin(), b.end());
}
bool NumberLists::Equal::operator()(const Place& a, const Place& b) const {
  return a.begin == b.begin && a.size == b.size;
}

uint32_t NumberLists::Intern(std::span<const uint64_t> list) {
  const auto known = places_.find(list);
  if (known != places_.end()) return known->begin;
  TH_CHECK(all_.size() + list.size() < std::numeric_limits<uint32_t>::max());
  const Place place = {static_cast<uint32_t>(all_.size()), static_cast<uint32_t>(list.size())};
  all_.insert(all_.end(), list.begin(), list.end());
  places_.insert(place);
  return place.begin;
}

std::vector<uint64_t> NumberLists::Take() && {
  places_.clear();
  all_.shrink_to_fit();
  return std::move(all_);
}

}  // namespace tensorhub
