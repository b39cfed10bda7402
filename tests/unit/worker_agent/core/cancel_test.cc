// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An owner may take a fetch or a publish back: it ends soon, by its own way out, and the next one
// is done as if it had never been.
// Covers: R8.13

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

constexpr TimeMs kSoonMs = 100;

void ExpectCancelledSoon(World& world, size_t index) {
  ASSERT_FALSE(world.Idle(index)) << "it ended before";
  const TimeMs before = world.now_ms();
  world.Deliver(index, CancelAsked{});
  EXPECT_EQ(world.Finish(index).code(), StatusCode::kCancelled);
  EXPECT_LE(world.now_ms() - before, kSoonMs);
  world.hub.script = nullptr;
}

TEST(Cancel, EndsAFetchThatWaitsForAVersion) {
  World world({});
  Swallow<protocol::JoinFetch>(world);
  world.Ask(1, FetchVerb{});
  world.RunFor(1000);
  ExpectCancelledSoon(world, 1);
  ASSERT_TRUE(world.Publish(0, 5).ok());
  EXPECT_EQ(world.Fetch(1), absl::OkStatus()) << "the next one is not";
}

TEST(Cancel, EndsAFetchInTheMiddleOfTheRead) {
  for (const bool one_sided : {false, true}) {
    World world({.one_sided = one_sided});
    ASSERT_TRUE(world.Publish(0, 5).ok());
    world.Ask(1, FetchVerb{});
    ASSERT_TRUE(world.RunToValid(1, 2));
    ExpectCancelledSoon(world, 1);
    EXPECT_TRUE(world.Holds(0, 5));
    EXPECT_EQ(world.Fetch(1), absl::OkStatus());
    EXPECT_TRUE(world.Holds(1, 5));
  }
}

TEST(Cancel, EndsAPublishThatIsNotAnswered) {
  World world({});
  Swallow<protocol::Publish>(world);
  world.Ask(0, PublishVerb{.version = 5});
  world.RunFor(1000);
  ExpectCancelledSoon(world, 0);
  EXPECT_EQ(world.Publish(0, 6), absl::OkStatus());
}

TEST(Cancel, IsNothingToWhoDoesNothing) {
  World world({});
  world.Deliver(1, CancelAsked{});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  EXPECT_EQ(world.Fetch(1), absl::OkStatus());
}

}  // namespace
}  // namespace tensorhub::agent::testing
