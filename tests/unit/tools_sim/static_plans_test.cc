// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/static_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tools/sim/baselines.h"

namespace tensorhub::sim {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr uint32_t kPlanGroupSize = 2;

// A shard takes 100 ms over a NIC of 1 GB/s, a chunk 1 ms.
ScaleOptions PlanOptions(uint32_t rollouts) {
  ScaleOptions options;
  options.topology.gpus = (rollouts + 1) * kPlanGroupSize;
  options.topology.gpus_per_host = kPlanGroupSize;
  options.topology.nic_bytes_per_second = 1e9;
  options.topology.hop_latency = 10 * kMicrosecond;
  options.group_size = kPlanGroupSize;
  options.shard_bytes = 100 * (1 << 20);
  options.chunk_bytes = 1 << 20;
  options.ahead_bytes = 0;
  return options;
}

double Ratio(Plan plan, const ScaleOptions& options) {
  const auto workload = MakeWorkload(options);
  return LastSeconds(RunPlan(plan, options, *workload)) / options.link_seconds();
}

TEST(StaticPlans, OneReaderTakesItsBytesOverItsRate) {
  for (const Plan plan : {Plan::kChain, Plan::kTwoTrees, Plan::kFanOut}) {
    EXPECT_THAT(Ratio(plan, PlanOptions(1)), DoubleNear(1, 0.001));
  }
}

TEST(StaticPlans, AFanOutTakesAsManyTimesAsItHasReaders) {
  EXPECT_THAT(Ratio(Plan::kFanOut, PlanOptions(9)), DoubleNear(9, 0.01));
}

TEST(StaticPlans, SeveralPublishersShareTheReaders) {
  ScaleOptions options = PlanOptions(12);
  options.publishers = 4;  // of which nine readers are left
  options.topology.gpus = (12 + 4) * kPlanGroupSize;
  EXPECT_THAT(Ratio(Plan::kFanOut, options), DoubleNear(3, 0.01));
}

TEST(StaticPlans, AChainCostsOneChunkPerMember) {
  EXPECT_THAT(Ratio(Plan::kChain, PlanOptions(51)), DoubleNear(1 + 50 * 0.0101, 0.01));
}

// Each level of the trees costs two chunks, since a stream has half of the link.
TEST(StaticPlans, TwoTreesCostTheLogarithm) {
  const double levels = std::ceil(std::log2(62.0));
  EXPECT_LT(Ratio(Plan::kTwoTrees, PlanOptions(62)), 1 + levels * 0.0201);
  EXPECT_GT(Ratio(Plan::kTwoTrees, PlanOptions(62)), 1 + (levels - 2) * 0.0201);
}

TEST(StaticPlans, EverybodyGetsTheVersion) {
  for (uint32_t rollouts = 1; rollouts < 40; ++rollouts) {
    const ScaleOptions options = PlanOptions(rollouts);
    const auto workload = MakeWorkload(options);
    for (const Plan plan : {Plan::kChain, Plan::kTwoTrees, Plan::kFanOut}) {
      EXPECT_THAT(RunPlan(plan, options, *workload), Each(Optional(testing::Gt(0))));
    }
  }
}

TEST(Baselines, ACollectiveWaitsForItsLastMember) {
  ScaleOptions options = PlanOptions(8);
  const double at_once = NcclBroadcast(options, *MakeWorkload(options)).completion_seconds;
  EXPECT_GT(at_once, options.link_seconds());
  EXPECT_LT(at_once, 1.1 * options.link_seconds());
  options.spread = kSecond;
  const auto workload = MakeWorkload(options);
  Nanos last = 0;
  for (const Rollout& rollout : workload->rollouts) last = std::max(last, rollout.ready);
  const Collective collective = NcclBroadcast(options, *workload);
  EXPECT_NEAR(collective.completion_seconds, at_once + Seconds(last), 1e-9);
  // All of them, trainers too, wait at least from the last one's coming to the end.
  EXPECT_GE(collective.stall_seconds, at_once * options.topology.gpus);
}

TEST(Workload, RefusesWhatMakesNoSense) {
  ScaleOptions options = PlanOptions(4);
  options.topology.gpus = kPlanGroupSize;
  EXPECT_THAT(MakeWorkload(options).status().message(), HasSubstr("--gpus 2"));
  options = PlanOptions(4);
  options.group_size = 0;
  EXPECT_THAT(MakeWorkload(options).status().message(), HasSubstr("--group-size"));
  options = PlanOptions(4);
  options.topology.nic_bytes_per_second = 0;
  EXPECT_THAT(MakeWorkload(options).status().message(), HasSubstr("--nic-gbit"));
  options = PlanOptions(4);
  options.shard_bytes = 0;
  EXPECT_THAT(MakeWorkload(options).status().message(), HasSubstr("--shard-bytes"));
  options = PlanOptions(4);
  options.chunk_bytes = 1;  // more chunks than a control word can count
  EXPECT_FALSE(MakeWorkload(options).ok());
}

}  // namespace
}  // namespace tensorhub::sim
