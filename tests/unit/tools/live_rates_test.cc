// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/live_rates.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tensorhub::ctl {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::IsEmpty;
using testing::Optional;

TEST(LiveRatesTest, ARateNeedsTwoLooks) {
  LiveRates rates;
  EXPECT_THAT(rates.Look({{"m a/0", 1, 100}}, 5), ElementsAre(Eq(std::nullopt)));
  EXPECT_THAT(rates.Look({{"m a/0", 1, 600}}, 7), ElementsAre(Optional(250.0)));
  EXPECT_THAT(rates.Look({{"m a/0", 1, 600}}, 8), ElementsAre(Optional(0.0)));
}

TEST(LiveRatesTest, ReadsComeAndGo) {
  LiveRates rates;
  rates.Look({{"m a/0", 1, 100}, {"m b/0", 1, 10}}, 1);
  EXPECT_THAT(rates.Look({{"m b/0", 1, 30}, {"m c/0", 1, 7}}, 2),
              ElementsAre(Optional(20.0), Eq(std::nullopt)));
  EXPECT_THAT(rates.Look({}, 3), IsEmpty());
  EXPECT_THAT(rates.Look({{"m b/0", 1, 40}}, 4), ElementsAre(Eq(std::nullopt)));
}

// The reader began anew, or reads another version by now.
TEST(LiveRatesTest, AnotherFetchHasNoRateYet) {
  LiveRates rates;
  rates.Look({{"m a/0", 1, 100}}, 1);
  EXPECT_THAT(rates.Look({{"m a/0", 1, 40}}, 2), ElementsAre(Eq(std::nullopt)));
  EXPECT_THAT(rates.Look({{"m a/0", 2, 90}}, 3), ElementsAre(Eq(std::nullopt)));
}

TEST(LiveRatesTest, WithoutTimeThereIsNoRate) {
  LiveRates rates;
  rates.Look({{"m a/0", 1, 100}}, 1);
  EXPECT_THAT(rates.Look({{"m a/0", 1, 140}}, 1), ElementsAre(Eq(std::nullopt)));
}

}  // namespace
}  // namespace tensorhub::ctl
