// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/gather.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace tensorhub::agent {
namespace {

// Pieces of odd sizes, also empty ones, and what they are in a row.
struct Scattered {
  explicit Scattered(uint64_t seed) : random(seed) {
    for (size_t piece = 0; piece < 40; ++piece) {
      std::string bytes(random.Below(5) * random.Below(50), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random.Next());
      whole += bytes;
      parts.push_back(std::move(bytes));
    }
    for (std::string& part : parts) pieces.push_back({part.data(), part.size()});
  }
  Random random;
  std::vector<std::string> parts;
  std::string whole;
  std::vector<ucp_dt_iov_t> pieces;
};

TEST(Gather, PacksInOrderWhateverTheSegments) {
  for (uint64_t seed = 1; seed < 50; ++seed) {
    Scattered scattered(seed);
    Gather gather;
    gather.Start(scattered.pieces);
    ASSERT_EQ(gather.bytes(), scattered.whole.size());
    std::string packed;
    while (packed.size() < gather.bytes()) {
      std::string segment(1 + scattered.random.Below(300), '\0');
      segment.resize(gather.Pack(packed.size(), segment.data(), segment.size()));
      ASSERT_FALSE(segment.empty());
      packed += segment;
    }
    EXPECT_EQ(packed, scattered.whole);
  }
}

// UCX asks again for what it found no room to send.
TEST(Gather, PacksFromAnywhereAgain) {
  Scattered scattered(7);
  Gather gather;
  gather.Start(scattered.pieces);
  for (int round = 0; round < 200; ++round) {
    const size_t offset = scattered.random.Below(scattered.whole.size());
    std::string segment(scattered.random.Below(400), '\0');
    const size_t bytes = gather.Pack(offset, segment.data(), segment.size());
    EXPECT_EQ(bytes, std::min(segment.size(), scattered.whole.size() - offset));
    EXPECT_EQ(segment.substr(0, bytes), scattered.whole.substr(offset, bytes));
  }
}

}  // namespace
}  // namespace tensorhub::agent
