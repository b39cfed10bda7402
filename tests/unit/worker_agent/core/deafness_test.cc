// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Workers that hear nothing any more, because a peer was killed in the middle of a message to them:
// they find out, connect anew, and nobody else is blamed (R8).
// Covers: R8.16

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

class Deafness : public ::testing::TestWithParam<bool> {
 protected:
  // Worker 0 holds version 5.
  std::unique_ptr<World> Published(uint64_t seed = 1) const {
    auto world =
        std::make_unique<World>(WorldOptions{.seed = seed, .workers = 3, .one_sided = GetParam()});
    EXPECT_TRUE(world->Publish(0, 5).ok());
    world->hub.choose = [](size_t) { return size_t{0}; };
    return world;
  }
  static size_t FailuresSaid(const World& world) {
    return world.hub.Said<protocol::SourceFailed>();
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, Deafness, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "OneSided" : "Served"; });

TEST_P(Deafness, OfAReaderCostsLessThanItsSource) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const auto world = Published(seed);
    world->Ask(2, FetchVerb{});
    ASSERT_TRUE(world->RunToValid(2, 2));
    world->network.Deafen(2);
    EXPECT_EQ(world->Finish(2), absl::OkStatus()) << seed;
    EXPECT_TRUE(world->Holds(2, 5));
    EXPECT_EQ(world->at(2).done.back().fetch.sources, "g0/0");
    EXPECT_EQ(world->at(2).done.back().fetch.bytes_read, world->Content(5).size());
    EXPECT_EQ(FailuresSaid(*world), 0u) << seed;
  }
}

// The death that leaves a worker deaf is what it hears of last.
TEST_P(Deafness, IsTestedWhenAPeerDies) {
  const auto world = Published();
  ASSERT_TRUE(world->Fetch(1).ok());
  world->network.Deafen(0);
  world->network.Kill(1);
  world->RunFor(100);
  ASSERT_TRUE(world->hub.moved.contains(0));
  EXPECT_EQ(world->Fetch(2), absl::OkStatus());
  EXPECT_EQ(FailuresSaid(*world), 0u);
}

// Nobody died that it knew of: the hub, to whom its readers complain, asks it.
TEST_P(Deafness, OfASourceIsTestedWhenTheHubProbes) {
  const auto world = Published();
  world->network.Deafen(0);
  world->Deliver(0, protocol::Probe{world->at(0).word.generation, /*verify=*/false});
  world->RunFor(100);
  EXPECT_EQ(world->hub.moved.at(0), "at0'");
  EXPECT_EQ(world->Fetch(2), absl::OkStatus());
}

// A source that connects anew says so to who reads from it, and the read goes on at its prefix.
TEST_P(Deafness, OfASourceCostsItsReadersNothingTwice) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const auto world = Published(seed);
    world->Ask(2, FetchVerb{});
    ASSERT_TRUE(world->RunToValid(2, 2));
    world->network.Deafen(0);
    world->Deliver(0, protocol::Probe{world->at(0).word.generation, /*verify=*/false});
    EXPECT_EQ(world->Finish(2), absl::OkStatus()) << seed;
    EXPECT_EQ(world->at(2).done.back().fetch.sources, "g0/0");
    EXPECT_EQ(world->at(2).done.back().fetch.bytes_read, world->Content(5).size());
    EXPECT_EQ(FailuresSaid(*world), 0u) << seed;
  }
}

// In the middle of a chain: behind it they wait, and read on.
TEST_P(Deafness, OfARelay) {
  const auto world = Published();
  world->hub.choose = [](size_t reader) { return reader - 1; };
  world->Ask(1, FetchVerb{});
  ASSERT_TRUE(world->RunToValid(1, 2));
  world->Ask(2, FetchVerb{});
  ASSERT_TRUE(world->RunToValid(2, 1));
  world->network.Deafen(1);
  EXPECT_EQ(world->Finish(1), absl::OkStatus());
  EXPECT_EQ(world->Finish(2), absl::OkStatus());
  EXPECT_TRUE(world->Holds(2, 5));
  EXPECT_EQ(FailuresSaid(*world), 0u);
}

// A hello that was not heard leaves a connection that leads nowhere.
TEST_P(Deafness, OfASourceIsOverForThoseItNeverHeardOf) {
  const auto world = Published();
  world->network.Deafen(0);
  EXPECT_EQ(world->Do(2, FetchVerb{.selector = {}, .timeout_ms = 500}).code(),
            absl::StatusCode::kDeadlineExceeded);
  world->Deliver(0, protocol::Probe{world->at(0).word.generation, /*verify=*/false});
  world->RunFor(100);
  EXPECT_EQ(world->Fetch(2), absl::OkStatus());
  EXPECT_EQ(FailuresSaid(*world), 0u);
}

// R3: a reader counts at its source until its gets have ended, also those of before the move.
TEST(DeafnessOfASource, IsNoReleaseOfWhatIsStillRead) {
  World world({.workers = 3, .one_sided = true});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Publish(1, 5).ok());
  world.hub.choose = [](size_t) { return size_t{0}; };
  world.Ask(2, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(2, 2));
  world.network.gets_hang = true;
  world.RunFor(200);
  ASSERT_TRUE(world.network.HasGets(2));
  world.network.Deafen(0);
  world.Deliver(0, protocol::Probe{world.at(0).word.generation, /*verify=*/false});
  world.RunFor(100);
  world.hub.Assign(2, 1);
  world.RunFor(100);
  EXPECT_TRUE(world.network.HasGets(2));
  EXPECT_EQ(world.hub.Said<protocol::SourceReleased>(), 0u);
  world.network.gets_hang = false;
  EXPECT_EQ(world.Finish(2), absl::OkStatus());
  EXPECT_GT(world.hub.Said<protocol::SourceReleased>(), 0u);
}

}  // namespace
}  // namespace tensorhub::agent::testing
