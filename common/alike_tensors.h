// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Inside of the plan library: tensors that both sides cut alike, as they cut those of a model's
// layers. What was found of one of them holds for all, so that the hub's check takes time for each
// kind of tensor, not for each tensor.

#ifndef TENSORHUB_COMMON_ALIKE_TENSORS_H_
#define TENSORHUB_COMMON_ALIKE_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/shard_planner.h"
#include "common/tensor_match.h"

namespace tensorhub {

class AlikeTensors {
 public:
  // Which reader shard is brought what.
  using Parts = std::vector<std::pair<uint32_t, ShardPlanner::Part>>;

  // What was added for one that is cut as the tensor is to which `match` went; null if there is
  // none. Not for tensors of which several hold a part: whose part is taken hangs on the name.
  const Parts* Find(const TensorMatch& match) const;
  // `match` is always of the same two shardings. Not kept if there are many already.
  void Add(const TensorMatch& match, Parts parts);

 private:
  struct Kind {
    size_t source_tensor = 0;
    size_t reader_tensor = 0;
    Parts parts;
  };

  std::unordered_multimap<uint64_t, Kind> kinds_;  // by a hash of what they have in common
  size_t kept_ = 0;
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_ALIKE_TENSORS_H_
