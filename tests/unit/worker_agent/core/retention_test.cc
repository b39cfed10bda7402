// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7 at the agent: what the hub asks for is passed on, an unpublish that the hub refuses changes
// nothing, and the last copy is not given up for want of time while the hub is there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Retention, ACopyIsWantedAlsoOfWhatTheBuffersHoldNoMore) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  EXPECT_THAT(world.at(0).copies_wanted, IsEmpty());
  world.Deliver(0, protocol::MakeCopy{world.hub.PublicationOf(5), 5});
  EXPECT_THAT(world.at(0).copies_wanted, ElementsAre(5));
  ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  world.Deliver(0, protocol::MakeCopy{world.hub.PublicationOf(5), 5});
  EXPECT_THAT(world.at(0).copies_wanted, ElementsAre(5, 5));
}

TEST(Retention, TheHubHearsThatThereWillBeNoCopy) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Deliver(0, protocol::CopyFailed{5, absl::ResourceExhaustedError("budget")});
  const auto* failed = std::get_if<protocol::CopyFailed>(&world.hub.said.back().second);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->version, 5u);
  EXPECT_TRUE(absl::IsResourceExhausted(failed->reason));
}

TEST(Retention, ARepeatedUnpublishHasWhatIsLeftOfItsTime) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  Swallow<protocol::Unpublish>(world);
  world.Ask(0, UnpublishVerb{.drain_ms = 4000});
  world.RunFor(500);
  world.SetHubAway(true);
  world.RunFor(1000);
  world.SetHubAway(false);
  world.RunFor(200);
  const auto& again = std::get<protocol::Unpublish>(world.hub.calls.back().second.request);
  EXPECT_LE(again.drain_ms, 2500);
  EXPECT_GE(again.drain_ms, 2000);
  world.hub.Reply(0, world.hub.calls.back().second.op, absl::ResourceExhaustedError("the last"));
  EXPECT_TRUE(absl::IsResourceExhausted(world.Finish(0)));
  EXPECT_TRUE(world.Holds(0, 5));
}

TEST(Retention, AFetchWhoseTimeIsOverGivesNothingUpThatTheHubWantsKept) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Publish(1, 6).ok());
  Swallow<protocol::Unpublish>(world);
  world.Ask(0, FetchVerb{.selector = {}, .timeout_ms = 3000});
  world.RunFor(100);
  const Call call = world.hub.calls.back().second;
  EXPECT_LE(std::get<protocol::Unpublish>(call.request).drain_ms, 3000);
  world.RunFor(3000);  // the hub's answer is on its way
  world.hub.Reply(0, call.op, absl::ResourceExhaustedError("the last"));
  EXPECT_FALSE(world.Finish(0).ok());
  EXPECT_TRUE(world.Holds(0, 5));
}

TEST(Retention, ACopyIsReleasedInItsGenerationOnly) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const Generation generation = world.at(0).word.generation;
  world.Deliver(0, protocol::ReleaseCopy{generation - 1});
  EXPECT_EQ(world.at(0).copy_released, 0);
  world.Deliver(0, protocol::ReleaseCopy{generation});
  EXPECT_EQ(world.at(0).copy_released, 1);
}

TEST(Retention, ARefusedUnpublishLeavesTheVersionHeldAndServed) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const ControlWord before = world.at(0).word;
  Swallow<protocol::Unpublish>(world);
  world.Ask(0, UnpublishVerb{});
  world.RunFor(100);
  world.hub.Reply(0, world.hub.calls.back().second.op, absl::ResourceExhaustedError("the last"));
  EXPECT_TRUE(absl::IsResourceExhausted(world.Finish(0)));
  EXPECT_EQ(world.at(0).word.generation, before.generation);
  EXPECT_TRUE(world.Fetch(1).ok());
}

TEST(Retention, TheHubIsToldHowTheOwnerWantsToGo) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Do(0, UnpublishVerb{.force = true}).ok());
  EXPECT_TRUE(std::get<protocol::Unpublish>(world.hub.calls.back().second.request).force);
  ASSERT_TRUE(world.Publish(0, 6).ok());
  ASSERT_TRUE(world.Do(0, LeaveVerb{}).ok());
  const auto& unpublish = world.hub.calls[world.hub.calls.size() - 2].second.request;
  EXPECT_TRUE(std::get<protocol::Unpublish>(unpublish).leaving);
}

}  // namespace
}  // namespace tensorhub::agent::testing
