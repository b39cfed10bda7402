// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "server/core/tables.h"
#include "server/core/wait_calls.h"
#include "tests/unit/server/core/part_world.h"

namespace tensorhub::hub {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Model ModelWith(std::initializer_list<VersionNumber> visible) {
  Model model;
  for (const VersionNumber version : visible) model.visible[version] = PublicationId{0, version};
  if (!model.visible.empty()) model.latest = model.visible.rbegin()->first;
  return model;
}

Wait WaitFor(VersionNumber newer_than, uint64_t max_lag = 0) {
  Wait wait;
  wait.model = "m";
  wait.newer_than = newer_than;
  wait.max_lag = max_lag;
  return wait;
}

TEST(WaitsTest, AreFoundByCallAndByModel) {
  Waits waits;
  waits.Add(7, WaitFor(1));
  waits.Add(3, WaitFor(2));
  Wait other = WaitFor(4);
  other.model = "n";
  waits.Add(5, other);
  EXPECT_THAT(waits.Of("m"), ElementsAre(3, 7));
  EXPECT_EQ(waits.Find(5)->newer_than, 4u);
  EXPECT_EQ(waits.Take(7)->newer_than, 1u);
  EXPECT_FALSE(waits.Take(7)) << "it waits no more";
  EXPECT_EQ(waits.Find(7), nullptr);
  EXPECT_THAT(waits.Of("m"), ElementsAre(3));
  waits.Take(3);
  EXPECT_THAT(waits.Of("m"), IsEmpty());
  EXPECT_EQ(waits.size(), 1u);
  waits.CheckInvariants();
}

TEST(WaitsTest, EndWithTheLatestOnceThereIsANewerVersion) {
  EXPECT_FALSE(VersionFor(WaitFor(0), Model{})) << "nothing is visible";
  EXPECT_FALSE(VersionFor(WaitFor(5), ModelWith({3, 5})));
  EXPECT_EQ(VersionFor(WaitFor(3), ModelWith({3, 5, 9})), 9u);
}

TEST(WaitsTest, LagIsCountedInVersionsNotInNumbers) {
  const Model model = ModelWith({10, 20, 30});
  EXPECT_EQ(VersionFor(WaitFor(10, 1), model), 30u);
  EXPECT_FALSE(VersionFor(WaitFor(10, 2), model));
  EXPECT_FALSE(VersionFor(WaitFor(20, 1), model));
}

TEST(WaitsTest, AnyVersionWillDoWhereTheCallSaysSo) {
  Wait wait = WaitFor(99);
  wait.any = true;
  EXPECT_FALSE(VersionFor(wait, Model{}));
  EXPECT_EQ(VersionFor(wait, ModelWith({2})), 2u);
}

// R2: what the caller holds is superseded, so that a smaller number is newer.
TEST(WaitsTest, ALaterTermIsNewerWhateverItsNumbers) {
  Model model = ModelWith({40});
  model.terms.Begin({1, 40});
  Wait wait = WaitFor(50);
  EXPECT_FALSE(VersionFor(wait, model)) << "it does not say in which term it holds 50";
  wait.held_in = 0;
  EXPECT_EQ(VersionFor(wait, model), 40u);
  wait.held_in = 1;
  EXPECT_FALSE(VersionFor(wait, model));
}

class WaitCallsTest : public testing::Test {
 protected:
  void TearDown() override { waits_.CheckInvariants(); }

  void Wait(CallId call, VersionNumber newer_than) {
    WaitOp op;
    op.call = call;
    op.model = PartWorld::kModel;
    op.newer_than = newer_than;
    op.timeout_ms = 500;
    waits_.On(op);
  }
  // Calls that were answered in this event, with that code.
  std::vector<CallId> Answered(absl::StatusCode code = absl::StatusCode::kOk) const {
    std::vector<CallId> calls;
    for (const Reply& reply : world_.All<Reply>()) {
      if (reply.status.code() == code) calls.push_back(reply.call);
    }
    return calls;
  }
  bool HasTimer(CallId call) const {
    return world_.HasTimer({world_.now() + 500, Timer::Kind::kWait, 0, call});
  }

  PartWorld world_;
  WaitCalls waits_{world_.options, world_, world_};
};

TEST_F(WaitCallsTest, AreAnsweredAtOnceOrOnceThereIsOne) {
  Wait(1, 0);
  EXPECT_THAT(Answered(), IsEmpty());
  EXPECT_TRUE(HasTimer(1));
  world_.Publish(7);
  Wait(2, 6);
  Wait(3, 7);
  EXPECT_THAT(Answered(), ElementsAre(2));
  waits_.Wake(PartWorld::kModel);
  EXPECT_THAT(Answered(), ElementsAre(2, 1));
  EXPECT_FALSE(HasTimer(1));
  EXPECT_TRUE(HasTimer(3));
}

TEST_F(WaitCallsTest, EndOnce) {
  Wait(1, 0);
  Wait(2, 0);
  waits_.Forget(2);
  waits_.Expire(1);
  waits_.Expire(1);
  waits_.Expire(2);
  EXPECT_THAT(Answered(absl::StatusCode::kDeadlineExceeded), ElementsAre(1));
  EXPECT_FALSE(HasTimer(2));
}

TEST_F(WaitCallsTest, AreBounded) {
  world_.options.limits.waits = 1;
  Wait(1, 0);
  Wait(2, 0);
  EXPECT_THAT(Answered(absl::StatusCode::kResourceExhausted), ElementsAre(2));
}

// R8: the watermark may still rise with the next report.
TEST_F(WaitCallsTest, GoOnWhileTheHubRecovers) {
  world_.Publish(7);
  world_.Recover(true);
  Wait(1, 0);
  waits_.Wake(PartWorld::kModel);
  EXPECT_THAT(Answered(), IsEmpty());
  world_.Recover(false);
  waits_.Wake(PartWorld::kModel);
  EXPECT_THAT(Answered(), ElementsAre(1));
}

}  // namespace
}  // namespace tensorhub::hub
