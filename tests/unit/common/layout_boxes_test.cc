// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Several boxes of one tensor in a layout, as fused weights are held.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/boxes.h"
#include "common/layout.h"
#include "common/random.h"

namespace tensorhub {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Rows [begin, end) of a matrix of 96 x 4.
TensorSpec FusedRows(uint64_t begin, uint64_t end, std::string name = "qkv") {
  return {std::move(name), DType::kBF16, {end - begin, 4}, SliceSpec{{96, 4}, {begin, 0}}};
}

std::string ErrorOf(const std::vector<TensorSpec>& tensors) {
  const absl::StatusOr<Layout> layout = Layout::Make(tensors);
  if (layout.ok()) return "";
  EXPECT_EQ(layout.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(layout.status().message());
}

// Phi-3's fused weight in TP 2: the rows of q, k and v of one rank.
TEST(LayoutBoxes, OfOneNameLieInTheOrderOfTheirPlace) {
  std::vector<size_t> order;
  const std::vector<TensorSpec> tensors = {FusedRows(80, 96), FusedRows(0, 32, "z"),
                                           FusedRows(32, 48), FusedRows(64, 72)};
  const absl::StatusOr<Layout> layout = Layout::Make(tensors, &order);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_THAT(order, ElementsAre(2, 3, 0, 1));
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(layout->entries()[i].spec(), tensors[order[i]]);
  }
  EXPECT_EQ(layout->entries()[1].offset, 16u * 4 * 2);
  EXPECT_EQ(layout->entries()[2].bytes, 16u * 4 * 2);
  EXPECT_EQ(Layout::Make({tensors[3], tensors[0], tensors[2], tensors[1]})->fingerprint(),
            layout->fingerprint());
  const absl::StatusOr<Layout> decoded = Layout::Decode(layout->Encode());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->fingerprint(), layout->fingerprint());
  EXPECT_EQ(decoded->entries()[2].spec(), tensors[0]);
}

TEST(LayoutBoxes, DecodeTakesThemInTheirOrderOnly) {
  std::string encoded = Layout::Make({FusedRows(0, 8), FusedRows(8, 16)})->Encode();
  const size_t head = 8, tensor = (encoded.size() - head) / 2;
  std::string swapped =
      encoded.substr(0, head) + encoded.substr(head + tensor) + encoded.substr(head, tensor);
  EXPECT_FALSE(Layout::Decode(swapped).ok());
}

TEST(LayoutBoxes, WhatIsThereTwiceOrOverlapsIsRefusedInOneLine) {
  EXPECT_THAT(ErrorOf({FusedRows(0, 8), FusedRows(16, 24), FusedRows(0, 8)}),
              HasSubstr("tensor \"qkv\" is there twice with the same slice [0:8, 0:4]"));
  EXPECT_THAT(ErrorOf({FusedRows(0, 8), FusedRows(16, 24), FusedRows(4, 12)}),
              AllOf(HasSubstr("\"qkv\" has slices that overlap, [0:8, 0:4] and [4:12, 0:4]"),
                    HasSubstr("register each element once")));
  const TensorSpec whole = {"qkv", DType::kBF16, {96, 4}, std::nullopt};
  EXPECT_EQ(ErrorOf({whole, whole}), "tensor \"qkv\" is there twice");
  EXPECT_THAT(ErrorOf({whole, FusedRows(0, 8)}), HasSubstr("with a slice and without one"));
  TensorSpec other = FusedRows(8, 16);
  other.dtype = DType::kF16;
  EXPECT_THAT(ErrorOf({FusedRows(0, 8), other}), HasSubstr("differ in dtype or global shape"));
  other = FusedRows(8, 16);
  other.slice->global_shape = {97, 4};
  EXPECT_THAT(ErrorOf({FusedRows(0, 8), other}), HasSubstr("differ in dtype or global shape"));
  const TensorSpec scalar = {"s", DType::kF32, {}, SliceSpec{}};
  EXPECT_THAT(ErrorOf({scalar, scalar}), HasSubstr("twice with the same slice []"));
}

TEST(LayoutBoxes, ADifferenceIsToldByItsPlace) {
  const Layout two = Layout::Make({FusedRows(0, 8), FusedRows(8, 16)}).value();
  const Layout one = Layout::Make({FusedRows(0, 8)}).value();
  EXPECT_THAT(DescribeDifference(two, one),
              HasSubstr("\"qkv\" (BF16 [8, 4] at [8, 0] of [96, 4]) is only in this layout"));
  const Layout other = Layout::Make({FusedRows(0, 8), FusedRows(16, 24)}).value();
  EXPECT_THAT(DescribeDifference(two, other), HasSubstr("at [8, 0] of [96, 4] here"));
}

// R9: so many that it would take minutes to see.
TEST(LayoutBoxes, TooManyToCompareAreRefusedButManyInARowAreNot) {
  constexpr uint64_t kSide = 40;
  const auto cell = [](uint64_t i, std::vector<uint64_t> global) {
    const std::vector<uint64_t> at = {i / kSide / kSide, i / kSide % kSide, i % kSide};
    return TensorSpec{"w", DType::kU8, {1, 1, 1}, SliceSpec{std::move(global), at}};
  };
  std::vector<TensorSpec> grid, row;
  for (uint64_t i = 0; i < kSide * kSide * kSide; ++i) {
    grid.push_back(cell(i, {kSide, kSide, kSide}));
    row.push_back({"w", DType::kU8, {1, 3}, SliceSpec{{1'000'000, 3}, {2 * i, 0}}});
  }
  EXPECT_THAT(ErrorOf(grid), HasSubstr("64000 slices of which it takes too long to see"));
  EXPECT_EQ(ErrorOf(row), "");
}

// --- against a map of every element -------------------------------------------------------------

TensorSpec RandomPiece(Random& random, const std::vector<uint64_t>& global) {
  TensorSpec piece = {"w", DType::kU8, {}, SliceSpec{global, {}}};
  for (uint64_t extent : global) {
    const uint64_t begin = random.Below(extent + 1);
    piece.slice->offset.push_back(begin);
    piece.shape.push_back(random.Below(extent - begin + 1));
  }
  return piece;
}

// The numbers of its elements in the whole tensor.
std::vector<uint64_t> ElementsOfPiece(const TensorSpec& piece) {
  std::vector<uint64_t> elements = {0};
  for (size_t d = 0; d < piece.shape.size(); ++d) {
    std::vector<uint64_t> next;
    for (uint64_t element : elements) {
      for (uint64_t i = 0; i < piece.shape[d]; ++i) {
        next.push_back(element * piece.slice->global_shape[d] + piece.slice->offset[d] + i);
      }
    }
    elements = std::move(next);
  }
  return elements;
}

bool AreDisjoint(const std::vector<TensorSpec>& pieces) {
  std::set<uint64_t> seen;
  for (const TensorSpec& piece : pieces) {
    for (uint64_t element : ElementsOfPiece(piece)) {
      if (!seen.insert(element).second) return false;
    }
  }
  return true;
}

TEST(LayoutBoxes, ExactlyDisjointOnesAreTaken) {
  uint64_t taken = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    std::vector<uint64_t> global;
    for (uint64_t d = 1 + random.Below(3); d > 0; --d) global.push_back(1 + random.Below(8));
    std::vector<TensorSpec> pieces;
    for (uint64_t n = 2 + random.Below(3); n > 0; --n)
      pieces.push_back(RandomPiece(random, global));
    bool twice = false;
    for (size_t i = 0; i < pieces.size(); ++i) {
      twice |= std::count(pieces.begin(), pieces.end(), pieces[i]) > 1;
    }
    const bool is_right = !twice && AreDisjoint(pieces);
    ++(is_right ? taken : refused);
    EXPECT_EQ(ErrorOf(pieces).empty(), is_right) << "seed " << seed;
  }
  EXPECT_GT(taken, 500u);
  EXPECT_GT(refused, 500u);
}

// --- kept flat ----------------------------------------------------------------------------------

Layout FsdpRank(uint64_t rank, uint64_t tensors) {
  std::vector<TensorSpec> specs;
  for (uint64_t i = 0; i < tensors; ++i) {
    specs.push_back({absl::StrCat("model.layers.", i, ".mlp.experts.down_proj.weight"),
                     DType::kBF16,
                     {2, 64},
                     SliceSpec{{1024, 64}, {2 * rank, 0}}});
  }
  return Layout::Make(specs).value();
}

TEST(LayoutKeptFlat, ATensorCostsARankTwelveBytesBesideTheSharedTable) {
  constexpr uint64_t kTensors = 2000;
  const Layout one = FsdpRank(0, kTensors);
  Layout other = FsdpRank(1, kTensors);
  EXPECT_LT(one.BytesKept(), 12 * kTensors + 1000);
  EXPECT_NE(one.fingerprint(), other.fingerprint());
  EXPECT_EQ(one.table()->fingerprint(), other.table()->fingerprint());
  EXPECT_NE(FsdpRank(0, kTensors - 1).table()->fingerprint(), one.table()->fingerprint());
  const std::string encoded = other.Encode();
  other.ShareTable(one.table());
  EXPECT_EQ(other.table(), one.table());
  EXPECT_EQ(other.Encode(), encoded);
  EXPECT_LT(one.table()->BytesKept(), encoded.size());
}

TEST(LayoutKeptFlat, TablesDifferInWhatTheyAreOf) {
  const auto table_of = [](std::vector<TensorSpec> tensors) {
    return Layout::Make(tensors)->table()->fingerprint();
  };
  const TensorSpec base = FusedRows(0, 8);
  TensorSpec dtype = base, shape = base;
  dtype.dtype = DType::kF16;
  shape.slice->global_shape = {97, 4};
  const std::set<Fingerprint> tables = {table_of({base}),
                                        table_of({dtype}),
                                        table_of({shape}),
                                        table_of({FusedRows(0, 8, "qk")}),
                                        table_of({base, FusedRows(8, 16)}),
                                        table_of({FusedRows(0, 8, "q"), FusedRows(0, 8, "kv")})};
  EXPECT_EQ(tables.size(), 6u);
  EXPECT_EQ(table_of({FusedRows(8, 24)}), table_of({base}));
}

}  // namespace
}  // namespace tensorhub
