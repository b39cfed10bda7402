// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <set>

#include "tools/netlab_link/way.h"

namespace tensorhub::netlab {
namespace {

constexpr size_t kFrame = 1000;

FrameInfo Tcp(uint64_t flow) { return {.flow = flow, .tcp = true}; }

// Flows whose hashes lie evenly between 0 and all.
FrameInfo FlowAt(double place) { return Tcp(static_cast<uint64_t>(place * 0x1p53) << 11 | 1); }

Way WayWith(const Settings& settings) {
  Way way(7);
  way.Set(settings, 0);
  return way;
}

bool Arrives(Way& way, const FrameInfo& frame, double now) {
  return way.Take(frame, kFrame, now).arrives.has_value();
}

TEST(WayTest, NothingIsDoneWhereNothingIsSaid) {
  Way way(1);
  for (int frame = 0; frame < 1000; ++frame) {
    EXPECT_EQ(way.Take(Tcp(1), kFrame, 5).arrives, 5);
  }
}

TEST(WayTest, DelaysAndKeepsTheRate) {
  Way way = WayWith({.delay_s = 0.05, .rate_bit = 8e6, .queue_s = 10});
  double last = 0;
  for (int frame = 0; frame < 1000; ++frame) last = *way.Take(Tcp(1), kFrame, 1).arrives;
  EXPECT_NEAR(last, 1 + 1 + 0.05, 0.005);  // 1000 frames take a second
}

TEST(WayTest, DropsWhatItsQueueDoesNotHold) {
  for (const Settings& settings : {Settings{.rate_bit = 8e6, .queue_s = 0.1},
                                   Settings{.rate_bit = 8e6, .queue_bytes = 100'000}}) {
    Way way = WayWith(settings);
    for (int frame = 0; frame < 1000; ++frame) way.Take(Tcp(1), kFrame, 1);
    EXPECT_NEAR(static_cast<double>(way.counts().frames), 104, 3);  // 100, and 4 ms of lateness
    EXPECT_EQ(way.counts().frames + way.counts().overflowed, 1000);
  }
}

TEST(WayTest, AFlowsRateIsItsOwn) {
  Way way = WayWith({.queue_s = 100, .flow_rate_bit = 8e5});
  for (int frame = 0; frame < 99; ++frame) way.Take(Tcp(1), kFrame, 1);
  EXPECT_NEAR(*way.Take(Tcp(1), kFrame, 1).arrives, 2, 0.01);
  EXPECT_NEAR(*way.Take(Tcp(2), kFrame, 1).arrives, 1, 0.011);
}

TEST(WayTest, LosesAndDoublesAShare) {
  Way way = WayWith({.loss = 0.1, .duplicate = 0.2, .duplicate_delay_s = 3});
  for (int frame = 0; frame < 10000; ++frame) {
    const Way::Fate fate = way.Take(Tcp(1), kFrame, 1);
    if (fate.again.has_value()) {
      EXPECT_EQ(*fate.again, 4);
    }
  }
  EXPECT_NEAR(static_cast<double>(way.counts().lost), 1000, 150);
  EXPECT_NEAR(static_cast<double>(way.counts().duplicated), 1800, 200);
}

TEST(WayTest, AShareOfThePathsIsDeadAfterATime) {
  Way way = WayWith({.sick = 0.25, .sick_after_s = 2, .sick_loss = 1});
  for (const double place : {0.1, 0.3, 0.9}) EXPECT_TRUE(Arrives(way, FlowAt(place), 1.9));
  EXPECT_FALSE(Arrives(way, FlowAt(0.1), 2.1));
  EXPECT_TRUE(Arrives(way, FlowAt(0.3), 2.1));
  EXPECT_TRUE(Arrives(way, FlowAt(0.9), 2.1));
}

TEST(WayTest, TheBusiestFlowIsOnASickPath) {
  Way way = WayWith({.sick = 0.1, .sick_after_s = 2, .sick_loss = 1, .sick_busiest = 1});
  for (int frame = 0; frame < 100; ++frame) way.Take(FlowAt(0.2), kFrame, 0.1);  // long ago
  for (int frame = 0; frame < 50; ++frame) way.Take(FlowAt(0.98), kFrame, 1.9);
  way.Take(FlowAt(0.5), kFrame, 1.9);
  EXPECT_TRUE(Arrives(way, FlowAt(0.5), 2.1));
  EXPECT_FALSE(Arrives(way, FlowAt(0.98), 2.1));
  EXPECT_FALSE(Arrives(way, FlowAt(0.01), 2.1));
  EXPECT_TRUE(Arrives(way, FlowAt(0.2), 2.1));
}

TEST(WayTest, FlowsOfSickPathsAreSlow) {
  Way way = WayWith({.rate_bit = 8e8, .queue_s = 10, .sick = 0.5, .sick_rate_bit = 8e5});
  for (int frame = 0; frame < 99; ++frame) way.Take(FlowAt(0.1), kFrame, 1);
  EXPECT_NEAR(*way.Take(FlowAt(0.1), kFrame, 1).arrives, 2, 0.01);
  EXPECT_NEAR(*way.Take(FlowAt(0.7), kFrame, 1).arrives, 1, 0.01);
}

TEST(WayTest, ConnectionsAreResetAtAnAge) {
  Way way = WayWith({.delay_s = 0.5, .reset_after_s = 3});
  EXPECT_TRUE(Arrives(way, Tcp(1), 1));
  EXPECT_TRUE(Arrives(way, Tcp(1), 3.9));
  const Way::Fate fate = way.Take(Tcp(1), kFrame, 4.1);
  EXPECT_TRUE(fate.reset);
  EXPECT_FALSE(fate.arrives.has_value());
  EXPECT_EQ(way.Arrival(4.1), 4.6);
  EXPECT_TRUE(Arrives(way, {.flow = 1, .tcp = true, .resets = true}, 4.2));
  EXPECT_TRUE(Arrives(way, {.flow = 1, .tcp = true, .begins = true}, 5));
  EXPECT_TRUE(Arrives(way, Tcp(1), 7.9));
  EXPECT_TRUE(Arrives(way, {.flow = 9}, 1));
  EXPECT_TRUE(Arrives(way, {.flow = 9}, 9));  // UDP has no connections
}

constexpr FrameInfo Asks(uint64_t flow) {
  return {.flow = flow, .tcp = true, .begins = true, .asks = true};
}

TEST(WayTest, RationsConnections) {
  Way way = WayWith({.connections = 2});
  EXPECT_TRUE(Arrives(way, Asks(1), 0));
  EXPECT_TRUE(Arrives(way, Asks(2), 0));
  EXPECT_FALSE(Arrives(way, Asks(3), 0));
  EXPECT_TRUE(Arrives(way, Asks(2), 0));  // once more
  EXPECT_TRUE(Arrives(way, {.flow = 1, .tcp = true, .ends = true}, 1));
  EXPECT_TRUE(Arrives(way, {.flow = 1, .tcp = true, .ends = true}, 1));
  EXPECT_TRUE(Arrives(way, Asks(3), 1));
  EXPECT_FALSE(Arrives(way, Asks(1), 1));
  EXPECT_EQ(way.counts().refused, 2);
  EXPECT_TRUE(Arrives(way, Asks(1), 70));  // the others were silent for a minute
}

TEST(WayTest, RationsBeginnings) {
  Way way = WayWith({.connection_rate = 10});
  for (uint64_t flow = 1; flow <= 100; ++flow) way.Take(Asks(flow), kFrame, 5);
  EXPECT_NEAR(static_cast<double>(way.counts().frames), 11, 1);
  EXPECT_FALSE(Arrives(way, Asks(200), 5.05));
  EXPECT_TRUE(Arrives(way, Asks(200), 5.2));
}

TEST(WayTest, IsDeadForAWhile) {
  Way way = WayWith({.dead_after_s = 1, .dead_for_s = 2});
  EXPECT_TRUE(Arrives(way, Tcp(1), 0.9));
  EXPECT_FALSE(Arrives(way, Tcp(1), 1.1));
  EXPECT_TRUE(Arrives(way, {.neighbours = true}, 1.1));
  EXPECT_TRUE(Arrives(way, Tcp(1), 3.1));
  way.Set({.dead_for_s = 1}, 10);
  EXPECT_FALSE(Arrives(way, Tcp(1), 10.5));
  EXPECT_TRUE(Arrives(way, Tcp(1), 11.5));
}

TEST(WayTest, FlowsAreForgottenBeforeTheyAreTooMany) {
  Way way(1);
  for (uint64_t flow = 0; flow < 200'000; ++flow) way.Take(Tcp(flow), kFrame, 1);
  EXPECT_LE(way.flows(), size_t{1} << 16);
}

TEST(SettingsTest, AreNamedNumbers) {
  const auto settings = ParseSettings({"delay_s=0.05", "sick_busiest=1"});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->delay_s, 0.05);
  EXPECT_EQ(settings->sick_busiest, 1);
  for (const char* word :
       {"delay_s", "delay=1", "delay_s=", "delay_s=-1", "delay_s=nan", "=1", ""}) {
    EXPECT_FALSE(ParseSettings({word}).ok()) << word;
  }
}

}  // namespace
}  // namespace tensorhub::netlab
