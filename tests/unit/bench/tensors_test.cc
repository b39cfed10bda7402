// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tools/child/child.h"

namespace tensorhub::bench {
namespace {

TEST(CutIntoTensorsTest, CoversTheBlockExactly) {
  std::vector<std::byte> block(1 << 20);
  for (const size_t count : {size_t{1}, size_t{2}, size_t{3}, size_t{300}, size_t{4096}}) {
    const std::vector<tensorhub::Tensor> tensors =
        CutIntoTensors(block.data(), block.size(), count);
    ASSERT_EQ(tensors.size(), count);
    const std::byte* next = block.data();
    std::set<std::string> names;
    for (const tensorhub::Tensor& tensor : tensors) {
      EXPECT_EQ(tensor.data, next);
      EXPECT_GT(tensor.bytes, 0u);
      next += tensor.bytes;
      names.insert(tensor.name);
    }
    EXPECT_EQ(next, block.data() + block.size());
    EXPECT_EQ(names.size(), count);
  }
}

TEST(CutIntoTensorsTest, NeighboursInNameAreNotNeighboursInMemory) {
  std::vector<std::byte> block(1 << 20);
  std::vector<tensorhub::Tensor> tensors = CutIntoTensors(block.data(), block.size(), 1000);
  std::sort(tensors.begin(), tensors.end(),
            [](const tensorhub::Tensor& a, const tensorhub::Tensor& b) { return a.name < b.name; });
  int merged = 0;
  for (size_t i = 1; i < tensors.size(); ++i) {
    const auto* end = static_cast<const std::byte*>(tensors[i - 1].data) + tensors[i - 1].bytes;
    merged += end == tensors[i].data ? 1 : 0;
  }
  EXPECT_LT(merged, 10);
}

TEST(FillTest, SeedsDiffer) {
  std::vector<std::byte> a(1001), b(1001), c(1001);
  Fill(a.data(), a.size(), 1);
  Fill(b.data(), b.size(), 1);
  Fill(c.data(), c.size(), 2);
  EXPECT_EQ(DigestOf(a.data(), a.size()), DigestOf(b.data(), b.size()));
  EXPECT_NE(DigestOf(a.data(), a.size()), DigestOf(c.data(), c.size()));
}

TEST(FieldsTest, ParsesWhatItPrints) {
  const auto fields = Fields::Parse("seconds=0.5 way=served");
  ASSERT_TRUE(fields.ok());
  EXPECT_EQ(*fields->Number("seconds"), 0.5);
  EXPECT_EQ(*fields->Text("way"), "served");
  EXPECT_EQ(fields->ToText(), "seconds=0.5 way=served");
  EXPECT_TRUE(Fields::Parse("")->ToText().empty());
}

TEST(FieldsTest, SaysWhatIsMissing) {
  const auto fields = Fields::Parse("way=served");
  EXPECT_FALSE(fields->Number("way").ok());
  EXPECT_EQ(fields->Text("seconds").status().message(), "seconds is missing");
  EXPECT_FALSE(Fields::Parse("seconds").ok());
}

}  // namespace
}  // namespace tensorhub::bench
