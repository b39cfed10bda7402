// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/common/random_shardings.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tensorhub {
namespace {

using Boxes = std::vector<std::vector<TestBox>>;  // by rank

TestBox WholeOf(const TestTensor& tensor) {
  return {std::vector<uint64_t>(tensor.shape.size(), 0), tensor.shape};
}

uint64_t ElementsOf(const TestBox& box) {
  uint64_t count = 1;
  for (uint64_t extent : box.shape) count *= extent;
  return count;
}

// Cut points 0 = p[0] <= p[1] <= … <= p[parts] = extent: even ones as FSDP cuts, or any.
std::vector<uint64_t> Points(Random& random, uint64_t extent, size_t parts) {
  std::vector<uint64_t> points;
  const bool even = random.Below(2) == 0;
  const uint64_t chunk = (extent + parts - 1) / parts;
  for (size_t i = 0; i <= parts; ++i) {
    points.push_back(even ? std::min<uint64_t>(i * chunk, extent) : random.Below(extent + 1));
  }
  std::sort(points.begin(), points.end());
  points.front() = 0;
  points.back() = extent;
  return points;
}

std::vector<TestBox> CutAlong(Random& random, const std::vector<TestBox>& boxes, size_t dimension,
                              size_t parts) {
  std::vector<TestBox> cut;
  for (const TestBox& box : boxes) {
    const std::vector<uint64_t> points = Points(random, box.shape[dimension], parts);
    for (size_t i = 0; i < parts; ++i) {
      TestBox part = box;
      part.offset[dimension] += points[i];
      part.shape[dimension] = points[i + 1] - points[i];
      cut.push_back(part);
    }
  }
  return cut;
}

TestBox RandomBox(Random& random, const TestTensor& tensor) {
  TestBox box = WholeOf(tensor);
  for (size_t i = 0; i < box.shape.size(); ++i) {
    box.offset[i] = random.Below(tensor.shape[i] + 1);
    box.shape[i] = random.Below(tensor.shape[i] - box.offset[i] + 1);
  }
  return box;
}

void CutTensor(Random& random, const TestTensor& tensor, Boxes& ranks, bool& out_of_order) {
  const size_t world = ranks.size();
  const size_t dimensions = tensor.shape.size();
  const TestBox whole = WholeOf(tensor);
  const uint64_t kind = random.Below(dimensions == 0 ? 2 : 7);
  const size_t along = dimensions == 0 ? 0 : random.Below(dimensions);
  if (kind == 0) {  // replicated
    for (std::vector<TestBox>& boxes : ranks) boxes.push_back(whole);
  } else if (kind == 1) {  // one stage of a pipeline, or two
    ranks[random.Below(world)].push_back(whole);
    if (random.Below(2) == 0) ranks[random.Below(world)].push_back(whole);
  } else if (kind <= 3) {  // FSDP, TP
    const std::vector<TestBox> parts = CutAlong(random, {whole}, along, world);
    for (size_t i = 0; i < world; ++i) ranks[i].push_back(parts[i]);
  } else if (kind == 4) {  // two dimensions, in which cuts need not go through; some held twice
    const std::vector<TestBox> parts =
        CutAlong(random, CutAlong(random, {whole}, along, 2), random.Below(dimensions), 2);
    for (size_t i = 0; i < std::max(world, parts.size()); ++i) {
      ranks[i % world].push_back(parts[i % parts.size()]);
    }
    out_of_order |= world < parts.size();
  } else if (kind == 5) {  // fused: several boxes for each rank, all ranks in turn
    const std::vector<TestBox> parts = CutAlong(random, {whole}, along, 2 * world + 1);
    for (size_t i = 0; i < parts.size(); ++i) ranks[i % world].push_back(parts[i]);
    out_of_order |= along > 0;
  } else {  // whole at one rank, and parts of any kind at others, or at all
    const size_t rank_of_whole = random.Below(world);
    const bool at_all = random.Below(4) == 0;
    ranks[rank_of_whole].push_back(whole);
    for (size_t i = 0; i < world; ++i) {
      if (i != rank_of_whole || at_all) ranks[i].push_back(RandomBox(random, tensor));
    }
    out_of_order |= at_all;
  }
}

// The slices in order, each behind the one before.
TestShard Place(Random& random, const std::vector<TestTensor>& tensors,
                const std::vector<std::vector<TestBox>>& by_tensor) {
  TestShard shard;
  const bool gaps = random.Below(4) == 0;
  for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    std::vector<TestBox> boxes = by_tensor[tensor];
    std::sort(boxes.begin(), boxes.end());
    boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
    for (const TestBox& box : boxes) {
      const uint64_t bits = ElementsOf(box) * BitsOf(tensors[tensor].dtype);
      if (bits % 8 != 0) continue;  // no layout could have it
      if (gaps) shard.total_bytes += random.Below(3);
      shard.slices.push_back({tensor, box, shard.total_bytes});
      shard.total_bytes += bits / 8;
    }
  }
  return shard;
}

}  // namespace

std::vector<TestTensor> RandomTensors(Random& random, size_t count_max) {
  constexpr std::array kDTypes = {DType::kU8, DType::kBF16, DType::kF32, DType::kF4,
                                  DType::kF6E2M3};
  std::vector<TestTensor> tensors;
  const size_t count = 1 + random.Below(count_max);
  for (size_t i = 0; i < count; ++i) {
    TestTensor tensor{absl::StrCat("t", i), kDTypes[random.Below(kDTypes.size())], {}};
    if (random.Below(3) != 0) tensor.dtype = kDTypes[random.Below(2)];
    const size_t dimensions = random.Below(5);
    for (size_t d = 0; d < dimensions; ++d) {
      tensor.shape.push_back(random.Below(30) == 0 ? 0 : 1 + random.Below(dimensions < 3 ? 9 : 5));
    }
    if (BitsOf(tensor.dtype) < 8) tensor.shape.push_back(4 * (1 + random.Below(3)));
    if (i > 0 && random.Below(2) == 0) {  // layers
      const TestTensor& like = tensors[random.Below(i)];
      tensor = {tensor.name, like.dtype, like.shape};
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

TestGroup RandomGroup(Random& random, const std::vector<TestTensor>& tensors, bool may_lack) {
  TestGroup group;
  const size_t world = 1 + random.Below(5);
  std::vector<std::vector<std::vector<TestBox>>> boxes(
      world, std::vector<std::vector<TestBox>>(tensors.size()));
  for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    if (may_lack && random.Below(8) == 0) continue;
    Boxes ranks(world);
    const size_t like = random.Below(tensor + 1);
    if (tensors[like].shape == tensors[tensor].shape && like < tensor && random.Below(4) != 0) {
      for (size_t rank = 0; rank < world; ++rank) ranks[rank] = boxes[rank][like];
    } else {
      CutTensor(random, tensors[tensor], ranks, group.may_be_out_of_order);
    }
    if (may_lack && random.Below(20) == 0) ranks[random.Below(world)].clear();
    for (size_t rank = 0; rank < world; ++rank) boxes[rank][tensor] = ranks[rank];
  }
  for (size_t rank = 0; rank < world; ++rank) {
    group.by_rank.push_back(Place(random, tensors, boxes[rank]));
    // HSDP: the same shard again.
    if (random.Below(8) == 0) group.by_rank.push_back(group.by_rank[random.Below(rank + 1)]);
  }
  return group;
}

ShardSlices SlicesOf(const TestShard& shard, const std::vector<TestTensor>& tensors) {
  ShardSlices slices;
  slices.total_bytes = shard.total_bytes;
  std::string all = absl::StrCat(shard.total_bytes);
  for (const TestSlice& slice : shard.slices) {
    const TestTensor& tensor = tensors[slice.tensor];
    slices.slices.push_back({tensor.name, tensor.dtype, tensor.shape, slice.box.offset,
                             slice.box.shape, slice.byte_offset});
    absl::StrAppend(&all, "|", slice.tensor, "@", slice.byte_offset);
    for (uint64_t number : slice.box.offset) absl::StrAppend(&all, ",", number);
    for (uint64_t number : slice.box.shape) absl::StrAppend(&all, ";", number);
  }
  slices.fingerprint = FingerprintOf(all);
  return slices;
}

absl::StatusOr<Sharding> ShardingOf(const TestGroup& group, const std::vector<TestTensor>& tensors,
                                    const std::set<Rank>* ranks) {
  ShardingBuilder builder(static_cast<uint32_t>(group.by_rank.size()));
  for (Rank rank = 0; rank < group.by_rank.size(); ++rank) {
    if (ranks != nullptr && !ranks->contains(rank)) continue;
    builder.Add(rank, SlicesOf(group.by_rank[rank], tensors));
  }
  return std::move(builder).Build();
}

std::vector<uint64_t> MemoryOf(const TestShard& shard, const std::vector<TestTensor>& tensors) {
  std::vector<uint64_t> memory(shard.total_bytes * 2);
  for (const TestSlice& slice : shard.slices) {
    const TestTensor& tensor = tensors[slice.tensor];
    // In quarters of a byte, as 6 bits are three of them; a half byte is called after its first.
    const uint64_t quarters = BitsOf(tensor.dtype) / 2;
    for (uint64_t i = 0; i < ElementsOf(slice.box); ++i) {
      uint64_t global = 0, rest = i, scale = 1;
      for (size_t d = tensor.shape.size(); d-- > 0;) {
        global += (slice.box.offset[d] + rest % slice.box.shape[d]) * scale;
        rest /= slice.box.shape[d];
        scale *= tensor.shape[d];
      }
      for (uint64_t q = 0; q < quarters; ++q) {
        const uint64_t at = slice.byte_offset * 4 + i * quarters + q;
        const uint64_t id = (uint64_t{slice.tensor} << 32) + global * quarters + q + 1;
        if (at % 2 == 0) memory[at / 2] += id * 1'000'003;
        if (at % 2 == 1) memory[at / 2] += id;
      }
    }
  }
  return memory;
}

}  // namespace tensorhub
