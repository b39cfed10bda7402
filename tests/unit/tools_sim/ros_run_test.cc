// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The real hub in the modelled network. A shard takes 10 s: the hub's part, some milliseconds, does
// not count.

#include "tools/sim/ros_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/seeds_to_try.h"

namespace tensorhub::sim {
namespace {

using ::testing::Each;
using ::testing::Ne;
using ::testing::Optional;

constexpr uint32_t kGroupSize = 2;

ScaleOptions SmallOptions(uint32_t rollouts) {
  ScaleOptions options;
  options.topology.gpus = (rollouts + 1) * kGroupSize;
  options.topology.gpus_per_host = kGroupSize;
  options.topology.nic_bytes_per_second = 1e8;
  options.group_size = kGroupSize;
  options.shard_bytes = 1e9;
  options.chunk_bytes = 1 << 20;
  return options;
}

RosResult RunIt(const ScaleOptions& options) {
  const auto workload = MakeWorkload(options);
  EXPECT_TRUE(workload.ok());
  return RunRos(options, *workload);
}

double Ratio(const ScaleOptions& options) {
  return LastSeconds(RunIt(options).done) / options.link_seconds();
}

TEST(RosRun, OneRolloutTakesItsBytesOverItsRate) { EXPECT_NEAR(Ratio(SmallOptions(1)), 1, 0.01); }

TEST(RosRun, AFewRolloutsTakeHardlyLonger) { EXPECT_LT(Ratio(SmallOptions(8)), 1.05); }

// A root takes what it needs from each of the trainers; the others follow it.
TEST(RosRun, TrainersThatCutTheModelOtherwiseCostNoMore) {
  for (const uint32_t trainer_size : {8u, 4u, 3u, 1u}) {
    ScaleOptions options = SmallOptions(8);
    options.trainer_size = trainer_size;
    options.topology.gpus = 8 * kGroupSize + trainer_size;
    options.topology.gpus_per_host = 1;  // all of it crosses the NICs
    const RosResult result = RunIt(options);
    EXPECT_THAT(result.done, Each(Ne(std::nullopt)));
    EXPECT_EQ(result.failures, 0u);
    EXPECT_LT(LastSeconds(result.done) / options.link_seconds(), 1.05) << trainer_size;
    EXPECT_GE(LastSeconds(result.done) / options.link_seconds(), 1) << trainer_size;
  }
}

// The first group's version is out, and one chain of all rollouts made, before the others have been
// compared with it (R1). Eight chains of 64 take 1.1 then, and one of 512 takes 1.8.
TEST(RosRun, ThoseWhoPublishItLaterGetTheirPartOfTheChain) {
  ScaleOptions options = SmallOptions(512 + 7);
  options.publishers = 8;
  EXPECT_LT(Ratio(options), 1.15);
}

// The defaults of `tensorhub-sim scale --gpus 16384`: eight chains of 2,047 replicas.
// Fewer of them under a sanitizer, as seeds.
TEST(RosRun, SixteenThousandGpusTakeLittleLonger) {
  ScaleOptions options;
  options.topology.gpus = static_cast<uint32_t>(SeedsToTry(16'384));
  const RosResult result = RunIt(options);
  EXPECT_THAT(result.done, Each(Ne(std::nullopt)));
  EXPECT_LT(LastSeconds(result.done), 1.15 * options.link_seconds());
  EXPECT_EQ(result.redirects, 0u) << "nobody moves for a stale report";
}

TEST(RosRun, WhoComesHalfWayTakesNoLongerThanAlone) {
  const ScaleOptions options = SmallOptions(3);
  auto workload = MakeWorkload(options);
  workload->rollouts[2].late = true;
  workload->rollouts[2].ready = 5 * kSecond;
  const RosResult result = RunRos(options, *workload);
  EXPECT_LT(Seconds(*result.done[2] - 5 * kSecond), 1.08 * options.link_seconds());
  EXPECT_LT(Seconds(*result.done[1]), 1.05 * options.link_seconds());
}

// The first of the chain dies half-way: those behind it go on elsewhere, where they were.
RosResult LoseTheFirst(const ScaleOptions& options) {
  auto workload = MakeWorkload(options);
  const RosResult undisturbed = RunRos(options, *workload);
  workload->rollouts[0].dies = 5 * kSecond;
  const RosResult result = RunRos(options, *workload);
  EXPECT_EQ(result.done[0], std::nullopt);
  const double longer = LastSeconds(result.done) - LastSeconds(undisturbed.done);
  EXPECT_LT(longer, Seconds(options.times.silence) + 0.05 * options.link_seconds());
  return result;
}

TEST(RosRun, ALostSourceCostsItsDetection) {
  const ScaleOptions options = SmallOptions(3);
  const RosResult result = LoseTheFirst(options);
  EXPECT_LE(result.bytes_thrown_away, 3 * kGroupSize * static_cast<double>(options.chunk()));
}

TEST(RosRun, OneCopyCrossesIntoEachDatacenter) {
  ScaleOptions options = SmallOptions(7);
  options.scenario = "crossdc";
  options.topology.datacenters = 2;
  options.topology.wide_area_bytes_per_second = 1e8;
  const RosResult result = RunIt(options);
  EXPECT_THAT(result.done, Each(Ne(std::nullopt)));
  const double copy = options.shard_bytes * kGroupSize;
  EXPECT_NEAR(result.wide_area_bytes[1], copy, 0.01 * copy);
  EXPECT_EQ(result.wide_area_bytes[0], 0);
}

ScaleOptions ElasticOptions(uint64_t seed) {
  ScaleOptions options = SmallOptions(30);
  options.scenario = "elastic";
  options.window = 10 * kSecond;
  options.late_share = 0.5;
  options.death_share = 0.3;
  options.seed = seed;
  return options;
}

TEST(RosRun, WhoeverLivesGetsTheVersion) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const ScaleOptions options = ElasticOptions(seed);
    const auto workload = MakeWorkload(options);
    const RosResult result = RunRos(options, *workload);
    for (size_t i = 0; i < result.done.size(); ++i) {
      EXPECT_TRUE(result.done[i] || workload->rollouts[i].dies) << i;
    }
  }
}

TEST(RosRun, DependsOnItsSeedAlone) {
  const RosResult first = RunIt(ElasticOptions(7));
  const RosResult again = RunIt(ElasticOptions(7));
  const RosResult other = RunIt(ElasticOptions(8));
  EXPECT_EQ(first.trace, again.trace);
  EXPECT_EQ(first.done, again.done);
  EXPECT_NE(first.trace, other.trace);
}

// --- the agents' own state machines, frame by frame -------------------------------------------

ScaleOptions CoreOptions(uint32_t rollouts) {
  ScaleOptions options = SmallOptions(rollouts);
  options.agent_cores = true;
  return options;
}

TEST(RosRunWithCores, OneRolloutTakesItsBytesOverItsRate) {
  EXPECT_NEAR(Ratio(CoreOptions(1)), 1, 0.01);
}

TEST(RosRunWithCores, FlowsAreCloseToFrames) {
  EXPECT_NEAR(Ratio(CoreOptions(8)) / Ratio(SmallOptions(8)), 1, 0.03);
}

TEST(RosRunWithCores, ALostSourceCostsItsDetection) { LoseTheFirst(CoreOptions(3)); }

TEST(RosRunWithCores, DependsOnItsSeedAlone) {
  ScaleOptions options = ElasticOptions(3);
  options.agent_cores = true;
  EXPECT_EQ(RunIt(options).trace, RunIt(options).trace);
}

}  // namespace
}  // namespace tensorhub::sim
