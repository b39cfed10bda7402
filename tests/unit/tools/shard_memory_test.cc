// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/shard_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace tensorhub::ctl {
namespace {

constexpr uint64_t kBytes = 64 << 20;

bool IsMapped(std::byte* page) {
  unsigned char resident = 0;
  return ::mincore(page, 1, &resident) == 0 || errno != ENOMEM;
}

TEST(ShardMemoryTest, OrdinaryMemoryGoesWithItsOwner) {
  absl::StatusOr<ShardMemory> made = MapShard(kBytes);
  ASSERT_TRUE(made.ok()) << made.status();
  ShardMemory memory = *std::move(made);
  std::byte* const begin = memory.get();
  std::fill_n(begin, kBytes, std::byte{1});
  memory.reset();
  const bool mapped = IsMapped(begin) || IsMapped(begin + kBytes / 2);
  EXPECT_FALSE(mapped);
}

// An agent's ranks are a vector, and connect anew.
TEST(ShardMemoryTest, OwnersMoveAndAreReplaced) {
  ShardMemory memory = *MapShard(kBytes);
  std::byte* const first = memory.get();
  ShardMemory other = std::move(memory);
  const bool moved = memory == nullptr && other.get() == first && IsMapped(first);
  EXPECT_TRUE(moved);
  ShardMemory next = *MapShard(kBytes);
  other = std::move(next);
  const bool mapped = IsMapped(first);
  EXPECT_FALSE(mapped);
}

TEST(ShardMemoryTest, AClientsMemoryIsLeftToIt) {
  std::vector<std::byte> of_the_client(4096);
  ShardMemory(of_the_client.data(), FreeShard()).reset();
  std::fill(of_the_client.begin(), of_the_client.end(), std::byte{1});
}

}  // namespace
}  // namespace tensorhub::ctl
