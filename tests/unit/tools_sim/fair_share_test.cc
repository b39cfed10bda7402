// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/random.h"

namespace tensorhub::sim {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kMuch = 1e6;

TEST(FairShare, NobodyWantsAnything) { EXPECT_THAT(SolveFairShare({{5}, {}}).rates, IsEmpty()); }

TEST(FairShare, AlikeOnOneLink) {
  const FairShareResult result = SolveFairShare({{9}, {{kMuch, {0}}, {kMuch, {0}}, {kMuch, {0}}}});
  EXPECT_THAT(result.rates, ElementsAre(3, 3, 3));
  EXPECT_THAT(result.binding, ElementsAre(1));
}

TEST(FairShare, WhatOneLeavesTheOthersTake) {
  const FairShareResult result = SolveFairShare({{10}, {{kMuch, {0}}, {2, {0}}, {kMuch, {0}}}});
  EXPECT_THAT(result.rates, ElementsAre(4, 2, 4));
}

// Half of what the second takes goes over another link.
TEST(FairShare, WhoUsesALinkInPartTakesLessOfIt) {
  const FairShareResult result = SolveFairShare({{3, 9}, {{kMuch, {0}}, {kMuch, {0, 1}, {.5, 1}}}});
  EXPECT_THAT(result.rates, ElementsAre(2, 2));
  EXPECT_THAT(result.binding, ElementsAre(1, 0));
}

TEST(FairShare, ALinkThatSatisfiesAllBindsNobody) {
  const FairShareResult result = SolveFairShare({{10}, {{4, {0}}, {6, {0}}}});
  EXPECT_THAT(result.rates, ElementsAre(4, 6));
  EXPECT_THAT(result.binding, ElementsAre(0));
}

// The textbook's case: A on links 0 and 1, B on 0, C on 1; link 0 has 10, link 1 has 4.
TEST(FairShare, TheNarrowLinkDecidesFirst) {
  const FairShareResult result =
      SolveFairShare({{10, 4}, {{kMuch, {0, 1}}, {kMuch, {0}}, {kMuch, {1}}}});
  EXPECT_THAT(result.rates, ElementsAre(2, 8, 2));
  EXPECT_THAT(result.binding, ElementsAre(1, 1));
}

TEST(FairShare, WithoutLinksOnlyTheCapCounts) {
  EXPECT_THAT(SolveFairShare({{}, {{7, {}}, {0, {}}}}).rates, ElementsAre(7, 0));
}

FairShareProblem RandomProblem(uint64_t seed) {
  Random random(seed);
  FairShareProblem problem;
  const uint64_t links = 1 + random.Below(8);
  for (uint64_t link = 0; link < links; ++link) {
    problem.capacities.push_back(static_cast<double>(1 + random.Below(100)));
  }
  problem.flows.resize(random.Below(30));
  for (FairShareProblem::Flow& flow : problem.flows) {
    flow.cap = random.Below(2) == 0 ? kMuch : static_cast<double>(random.Below(40));
    for (uint32_t link = 0; link < links; ++link) {
      if (link == 0 || random.Below(3) == 0) flow.links.push_back(link);
    }
  }
  return problem;
}

double Load(const FairShareProblem& problem, const FairShareResult& result, uint32_t link) {
  double load = 0;
  for (size_t i = 0; i < problem.flows.size(); ++i) {
    const auto& links = problem.flows[i].links;
    if (std::find(links.begin(), links.end(), link) != links.end()) load += result.rates[i];
  }
  return load;
}

// Of a flow below its cap, some link is full and gives nobody more than it.
bool IsHeldBack(const FairShareProblem& problem, const FairShareResult& result, size_t flow) {
  for (const uint32_t link : problem.flows[flow].links) {
    if (Load(problem, result, link) < problem.capacities[link] * (1 - 1e-6)) continue;
    bool greatest = true;
    for (size_t i = 0; i < problem.flows.size(); ++i) {
      const auto& links = problem.flows[i].links;
      const bool here = std::find(links.begin(), links.end(), link) != links.end();
      if (here && result.rates[i] > result.rates[flow] * (1 + 1e-6)) greatest = false;
    }
    if (greatest) return true;
  }
  return false;
}

// The definition of max-min fairness, and that no link carries more than it can.
TEST(FairShare, RandomGraphs) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    const FairShareProblem problem = RandomProblem(seed);
    const FairShareResult result = SolveFairShare(problem);
    for (uint32_t link = 0; link < problem.capacities.size(); ++link) {
      EXPECT_LE(Load(problem, result, link), problem.capacities[link] * (1 + 1e-6));
    }
    for (size_t flow = 0; flow < problem.flows.size(); ++flow) {
      const double cap = problem.flows[flow].cap;
      EXPECT_LE(result.rates[flow], cap);
      const bool content = result.rates[flow] >= cap * (1 - 1e-6);
      EXPECT_TRUE(content || IsHeldBack(problem, result, flow)) << flow;
    }
  }
}

}  // namespace
}  // namespace tensorhub::sim
