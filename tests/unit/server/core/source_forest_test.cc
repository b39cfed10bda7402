// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Covers: R5.1

#include "server/core/source_forest.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/random.h"

namespace tensorhub::hub {
namespace {

TEST(SourceForestTest, AChainInOrder) {
  std::vector<SourceNode> nodes(4);
  for (size_t i = 1; i < nodes.size(); ++i) nodes[i].AttachTo(nodes[i - 1], nullptr);
  EXPECT_TRUE(nodes[3].IsBelow(nodes[0]));
  EXPECT_FALSE(nodes[0].IsBelow(nodes[3]));
  EXPECT_FALSE(nodes[2].IsBelow(nodes[2]));
  nodes[2].Detach();
  EXPECT_FALSE(nodes[3].IsBelow(nodes[0]));
  EXPECT_TRUE(nodes[3].IsBelow(nodes[2])) << "it takes those below it along";
  nodes[2].Detach();
  EXPECT_FALSE(nodes[2].attached());
}

TEST(SourceForestDeathTest, NoCycle) {
  std::vector<SourceNode> nodes(3);
  nodes[1].AttachTo(nodes[0], nullptr);
  nodes[2].AttachTo(nodes[1], nullptr);
  EXPECT_DEATH(nodes[0].AttachTo(nodes[2], nullptr), "");
}

// Against walking up a list of parents.
class Walked {
 public:
  explicit Walked(size_t count) : source_(count, kNone) {}
  void Attach(size_t node, size_t source) { source_[node] = source; }
  void Detach(size_t node) { source_[node] = kNone; }
  bool attached(size_t node) const { return source_[node] != kNone; }
  size_t Above(size_t node) const { return source_[node]; }
  bool IsBelow(size_t node, size_t other) const {
    while (source_[node] != kNone) {
      node = source_[node];
      if (node == other) return true;
    }
    return false;
  }

 private:
  static constexpr size_t kNone = ~size_t{0};
  std::vector<size_t> source_;
};

void CompareAtRandom(uint64_t seed, size_t count, int steps) {
  Random random(seed);
  std::vector<SourceNode> nodes(count);
  Walked walked(count);
  for (int step = 0; step < steps; ++step) {
    const size_t a = random.Below(count), b = random.Below(count);
    ASSERT_EQ(nodes[a].IsBelow(nodes[b]), walked.IsBelow(a, b)) << "seed " << seed;
    ASSERT_EQ(nodes[a].attached(), walked.attached(a));
    size_t depth = 0;
    for (size_t node = b; walked.attached(node); node = walked.Above(node)) ++depth;
    ASSERT_EQ(nodes[b].Depth(), depth) << "seed " << seed;
    const size_t up = random.Below(depth + 1);
    size_t above = b;
    for (size_t i = 0; i < up; ++i) above = walked.Above(above);
    ASSERT_EQ(&nodes[b].Above(up), &nodes[above]) << "seed " << seed;
    if (random.Below(4) == 0) {
      nodes[a].Detach();
      walked.Detach(a);
    } else if (a != b && !walked.attached(a) && !walked.IsBelow(b, a)) {
      nodes[a].AttachTo(nodes[b], nullptr);
      walked.Attach(a, b);
    }
  }
}

TEST(SourceForestTest, AgreesWithWalking) {
  for (uint64_t seed = 1; seed <= 100; ++seed) CompareAtRandom(seed, 3 + seed % 40, 2000);
}

}  // namespace
}  // namespace tensorhub::hub
