// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorhub::cli {
namespace {

using std::chrono::milliseconds;

template <typename T>
std::optional<T> Parsed(std::string_view text) {
  T value{};
  if (ParseValue(text, &value)) return std::nullopt;
  return value;
}

TEST(ValuesTest, Durations) {
  EXPECT_EQ(Parsed<milliseconds>("250ms"), milliseconds(250));
  EXPECT_EQ(Parsed<milliseconds>("1.5s"), milliseconds(1500));
  EXPECT_EQ(Parsed<milliseconds>("2m"), milliseconds(120000));
  EXPECT_EQ(Parsed<milliseconds>("1h"), milliseconds(3600000));
  EXPECT_EQ(Parsed<milliseconds>("0"), milliseconds(0));
  for (const char* bad : {"", "5", "s", "-5s", "5 s", "5x", "infs", "1e3s", "99999999999999999h"}) {
    EXPECT_EQ(Parsed<milliseconds>(bad), std::nullopt) << bad;
  }
}

TEST(ValuesTest, Sizes) {
  EXPECT_EQ(Parsed<Bytes>("4096"), Bytes{4096});
  EXPECT_EQ(Parsed<Bytes>("64MiB"), Bytes{64ull << 20});
  EXPECT_EQ(Parsed<Bytes>("64Mi"), Bytes{64ull << 20});
  EXPECT_EQ(Parsed<Bytes>("2GB"), Bytes{2000000000});
  EXPECT_EQ(Parsed<Bytes>("1kB"), Bytes{1000});
  EXPECT_EQ(Parsed<Bytes>("0.5GiB"), Bytes{512ull << 20});
  for (const char* bad : {"", "MiB", "-1", "1.5", "1XB", "1MiBB", "99999999TiB"}) {
    EXPECT_EQ(Parsed<Bytes>(bad), std::nullopt) << bad;
  }
}

TEST(ValuesTest, Numbers) {
  EXPECT_EQ(Parsed<int64_t>("-5"), -5);
  EXPECT_EQ(Parsed<uint32_t>("4294967295"), 4294967295u);
  EXPECT_EQ(Parsed<uint32_t>("4294967296"), std::nullopt);
  EXPECT_EQ(Parsed<uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(Parsed<uint64_t>("1 "), std::nullopt);
  EXPECT_EQ(Parsed<double>("0.25"), 0.25);
  EXPECT_EQ(Parsed<double>("nan"), std::nullopt);
  EXPECT_EQ(Parsed<bool>("yes"), true);
  EXPECT_EQ(Parsed<bool>("maybe"), std::nullopt);
}

TEST(ValuesTest, DefaultsAreShownAsTheyAreWritten) {
  EXPECT_EQ(FormatValue(milliseconds(5000)), "5s");
  EXPECT_EQ(FormatValue(milliseconds(250)), "250ms");
  EXPECT_EQ(FormatValue(milliseconds(0)), "0s");
  EXPECT_EQ(FormatValue(Bytes{64ull << 20}), "64MiB");
  EXPECT_EQ(FormatValue(Bytes{1000}), "1000");
}

}  // namespace
}  // namespace tensorhub::cli
