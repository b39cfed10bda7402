// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tensorhub::ctl {
namespace {

using testing::HasSubstr;

const std::vector<TensorSpec>& Whole() {
  static const std::vector<TensorSpec> tensors = {{"a", DType::kF32, {10, 3}, std::nullopt},
                                                  {"few", DType::kF16, {2}, std::nullopt},
                                                  {"nothing", DType::kF32, {0, 4}, std::nullopt},
                                                  {"scalar", DType::kF32, {}, std::nullopt}};
  return tensors;
}

std::vector<Layout> LayoutsOfRanks(uint32_t ranks) {
  std::vector<Layout> layouts;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    layouts.push_back(Layout::Make(RowsOf(Whole(), rank, ranks)).value());
  }
  return layouts;
}

TEST(Rows, ARankOfSeveralHasItsPartOfEach) {
  std::map<std::string, uint64_t> rows;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    for (const TensorSpec& spec : RowsOf(Whole(), rank, 4)) {
      ASSERT_TRUE(spec.slice) << spec.name;
      if (spec.name == "a" || spec.name == "few") {
        EXPECT_EQ(spec.slice->offset[0], rows[spec.name]);
        rows[spec.name] += spec.shape[0];
      } else {
        EXPECT_EQ(spec.shape, spec.slice->global_shape);
        ++rows[spec.name];
      }
    }
  }
  EXPECT_EQ(rows, (std::map<std::string, uint64_t>{
                      {"a", 10}, {"few", 2}, {"nothing", 4}, {"scalar", 4}}));
}

TEST(Rows, OneRankHasWholeTensors) {
  EXPECT_EQ(RowsOf(Whole(), 0, 1), Whole());
  for (const uint32_t ranks : {1u, 2u, 7u}) {
    EXPECT_EQ(WholeTensors(LayoutsOfRanks(ranks)).value(), Whole()) << ranks;
  }
}

TEST(Rows, WhatIsNoSliceHasNoPlace) {
  const Layout piece = Layout::Make({{"w", DType::kF32, {4}, std::nullopt}}).value();
  const absl::Status status = WholeTensors({piece, piece}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tensor \"w\": a rank does not say"));
  EXPECT_TRUE(WholeTensors({piece}).ok());
}

TEST(Rows, RanksThatDifferAreNamed) {
  const Layout four = Layout::Make({{"w", DType::kF32, {2}, SliceSpec{{4}, {0}}}}).value();
  const Layout five = Layout::Make({{"w", DType::kF32, {3}, SliceSpec{{5}, {2}}}}).value();
  EXPECT_THAT(std::string(WholeTensors({four, five}).status().message()),
              HasSubstr("different shapes or dtypes"));
}

TEST(Rows, TheFirstRankHasWhatTravelsAlong) {
  const std::vector<safetensors::ExtraFile> extras = {{"config.json", "{}"},
                                                      {"model.safetensors.index.json", "{}"}};
  const auto files = FilesOfRows(Whole(), extras, 2).value();
  ASSERT_EQ(files.size(), 2u);
  ASSERT_EQ(files[0].extras.size(), 1u);
  EXPECT_EQ(files[0].extras[0].name, "config.json");
  EXPECT_TRUE(files[1].extras.empty());
  EXPECT_EQ(files[0].data_bytes() + files[1].data_bytes(), 30 * 4 + 2 * 2 + 2 * 4u);
}

}  // namespace
}  // namespace tensorhub::ctl
