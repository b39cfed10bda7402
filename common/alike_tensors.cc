// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/alike_tensors.h"

#include <algorithm>

#include "absl/hash/hash.h"

namespace tensorhub {
namespace {

// What a check may keep in memory, of both kinds and parts together.
constexpr size_t kKeptMax = size_t{1} << 20;

bool HasSameHolder(const Sharding::Slice& a, const Sharding::Slice& b) {
  return a.box == b.box && a.shard == b.shard;
}

// Whether the same shards hold the same boxes of both. Where these lie in a shard's bytes differs,
// but not their order, and nothing else of it matters.
bool AreCutAlike(const Sharding& sharding, size_t a, size_t b) {
  const Sharding::Tensor& one = sharding.tensors()[a];
  const Sharding::Tensor& other = sharding.tensors()[b];
  const auto slices = sharding.slices(a), others = sharding.slices(b);
  return BitsOf(one.dtype) == BitsOf(other.dtype) &&
         one.global_shape.size() == other.global_shape.size() &&
         std::equal(slices.begin(), slices.end(), others.begin(), others.end(), HasSameHolder);
}

uint64_t HashOfCut(const Sharding& sharding, size_t tensor) {
  uint64_t hash = 0;
  for (const Sharding::Slice& slice : sharding.slices(tensor)) {
    hash = absl::HashOf(hash, slice.box, slice.shard);
  }
  return hash;
}

uint64_t HashOf(const TensorMatch& match) {
  return absl::HashOf(HashOfCut(match.source(), match.source_tensor()),
                      HashOfCut(match.reader(), match.reader_tensor()));
}

}  // namespace

const AlikeTensors::Parts* AlikeTensors::Find(const TensorMatch& match) const {
  const auto [begin, end] = kinds_.equal_range(HashOf(match));
  for (auto it = begin; it != end; ++it) {
    const Kind& kind = it->second;
    if (AreCutAlike(match.source(), kind.source_tensor, match.source_tensor()) &&
        AreCutAlike(match.reader(), kind.reader_tensor, match.reader_tensor())) {
      return &kind.parts;
    }
  }
  return nullptr;
}

void AlikeTensors::Add(const TensorMatch& match, Parts parts) {
  if (kept_ + parts.size() >= kKeptMax) return;
  kept_ += parts.size() + 1;
  kinds_.emplace(HashOf(match),
                 Kind{match.source_tensor(), match.reader_tensor(), std::move(parts)});
}

}  // namespace tensorhub
