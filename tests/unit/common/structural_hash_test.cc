// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/structural_hash.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "common/remedy.h"

namespace tensorhub {
namespace {

struct Inner {
  uint64_t number = 0;
  std::string text = {};
};
struct Older {
  Inner inner = {};
  std::optional<uint32_t> maybe = {};
  std::variant<Inner, uint64_t> either = {};
  std::vector<uint64_t> list = {};
  std::map<std::string, Inner> map = {};
  absl::Status status = {};
};
struct Newer {
  Inner inner = {};
  std::optional<uint32_t> maybe = {};
  std::variant<Inner, uint64_t> either = {};
  std::vector<uint64_t> list = {};
  std::map<std::string, Inner> map = {};
  absl::Status status = {};
  bool added = false;
};

TEST(StructuralHashTest, EveryMemberCounts) {
  std::vector<Older> all(13);
  all[1].inner.number = 1;
  all[2].inner.number = 2;
  all[3].inner.text = "1";
  all[4].maybe = 0;
  all[5].maybe = 1;
  all[6].either = uint64_t{0};
  all[7].either = Inner{1, ""};
  all[8].list = {0};
  all[9].list = {0, 0};
  all[10].map = {{"a", {1, ""}}};
  all[11].status = absl::AbortedError("why");
  all[12].status = AsOutage(absl::AbortedError("why"));
  for (size_t a = 0; a < all.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      EXPECT_NE(StructuralHash(all[a]), StructuralHash(all[b])) << a << " and " << b;
    }
    EXPECT_EQ(StructuralHash(all[a]), StructuralHash(Older(all[a])));
  }
}

TEST(StructuralHashTest, OrderCounts) {
  EXPECT_NE(StructuralHash(std::vector<uint64_t>{1, 2}),
            StructuralHash(std::vector<uint64_t>{2, 1}));
}

TEST(StructuralHashTest, AFieldThatSaysNothingChangesNothing) {
  Older older;
  older.inner = {7, "seven"};
  Newer newer;
  newer.inner = {7, "seven"};
  EXPECT_EQ(StructuralHash(older), StructuralHash(newer));
  newer.added = true;
  EXPECT_NE(StructuralHash(older), StructuralHash(newer));
}

}  // namespace
}  // namespace tensorhub
