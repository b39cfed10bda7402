// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/event_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tensorhub::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<Nanos, std::string>> Drain(EventQueue<std::string>& queue) {
  std::vector<std::pair<Nanos, std::string>> all;
  while (queue.NextTime()) all.push_back(queue.Pop());
  return all;
}

TEST(EventQueue, ComesOutByTime) {
  EventQueue<std::string> queue;
  queue.Push(30, "c");
  queue.Push(10, "a");
  queue.Push(20, "b");
  EXPECT_EQ(queue.NextTime(), 10);
  EXPECT_THAT(Drain(queue), ElementsAre(Pair(10, "a"), Pair(20, "b"), Pair(30, "c")));
}

TEST(EventQueue, KeepsTheOrderOfOneInstant) {
  EventQueue<std::string> queue;
  for (const char* name : {"1", "2", "3", "4", "5", "6"}) queue.Push(7, name);
  EXPECT_EQ(queue.Pop().second, "1");
  queue.Push(7, "7");
  EXPECT_THAT(Drain(queue), ElementsAre(Pair(7, "2"), Pair(7, "3"), Pair(7, "4"), Pair(7, "5"),
                                        Pair(7, "6"), Pair(7, "7")));
}

TEST(EventQueue, IsEmptyAtFirst) {
  const EventQueue<int> queue;
  EXPECT_EQ(queue.NextTime(), std::nullopt);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace tensorhub::sim
