// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace tensorhub::ctl {
namespace {

TEST(UnitsTest, Bytes) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1024), "1.0 KiB");
  EXPECT_EQ(HumanBytes((uint64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(HumanBytes(uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(HumanBytes(std::numeric_limits<uint64_t>::max()), "16384.0 PiB");
}

TEST(UnitsTest, RatesAreDecimal) {
  EXPECT_EQ(HumanRate(3'000'000'000, 2), "1.50 GB/s");
  EXPECT_EQ(HumanRate(1, 0), "-");
}

TEST(UnitsTest, Seconds) {
  EXPECT_EQ(HumanSeconds(0.0), "0.0 ms");
  EXPECT_EQ(HumanSeconds(0.0994), "99.4 ms");
  EXPECT_EQ(HumanSeconds(0.1), "0.10 s");
  EXPECT_EQ(HumanSeconds(9.999), "10.0 s");
  EXPECT_EQ(HumanSeconds(59.99), "1m 00s");
  EXPECT_EQ(HumanSeconds(185), "3m 05s");
  EXPECT_EQ(HumanSeconds(7800), "2h 10m");
  EXPECT_EQ(HumanSeconds(90000), "1d 01h");
  EXPECT_EQ(HumanSeconds(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(HumanSeconds(-1), "-");
}

TEST(UnitsTest, OnlyTheWholeIsAHundredPercent) {
  EXPECT_EQ(HumanPercent(0, 10), "0%");
  EXPECT_EQ(HumanPercent(9999, 10000), "99%");
  EXPECT_EQ(HumanPercent(10, 10), "100%");
  EXPECT_EQ(HumanPercent(0, 0), "100%");
}

}  // namespace
}  // namespace tensorhub::ctl
