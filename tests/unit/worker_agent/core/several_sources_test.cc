// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One read that several sources feed (R3, R4, R5): who brings what, and what becomes of it when one
// of them goes.
// Covers: R4.9

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

constexpr size_t kFedBySeveral = 3;
constexpr uint64_t kSmallChunk = 4096;

class SeveralSources : public ::testing::Test {
 protected:
  // Three holders of version 5.
  explicit SeveralSources(const WorldOptions& options = Options())
      : world_(std::make_unique<World>(options)) {
    for (size_t source = 0; source < kFedBySeveral; ++source) {
      EXPECT_TRUE(world_->Publish(source, 5).ok());
    }
  }
  static WorldOptions Options() {
    return {.workers = 4, .chunk_bytes = kSmallChunk, .total_bytes = 200 * kSmallChunk + 100};
  }
  // The reader has begun at source 0.
  void Begin() {
    world_->hub.choose = [](size_t) { return size_t{0}; };
    world_->Ask(kFedBySeveral, FetchVerb{});
    ASSERT_TRUE(world_->Run([&] { return world_->hub.SourceOf(kFedBySeveral).has_value(); }));
  }
  void Spread(const std::vector<size_t>& sources) {
    Begin();
    world_->hub.AssignSeveral(kFedBySeveral, sources);
  }
  void ExpectWhole() {
    EXPECT_EQ(world_->Finish(kFedBySeveral), absl::OkStatus());
    EXPECT_TRUE(world_->Holds(kFedBySeveral, 5));
    EXPECT_EQ(Outcome().bytes_read, world_->Content(5).size());
  }
  const FetchOutcome& Outcome() { return world_->at(kFedBySeveral).done.back().fetch; }
  uint64_t Written() { return world_->at(kFedBySeveral).written_bytes; }
  uint64_t Total() { return world_->Content(5).size(); }
  // What the plan before the one of several had asked for may come twice.
  uint64_t Window() { return world_->at(kFedBySeveral).options.window_bytes; }

  std::unique_ptr<World> world_;
};

TEST_F(SeveralSources, EachByteComesOnceAndFromAllOfThem) {
  Spread({0, 1, 2});
  ExpectWhole();
  EXPECT_EQ(Outcome().sources, "g0/0, g0/0, g1/0, g2/0");
  EXPECT_LE(Written(), Total() + Window());
}

TEST_F(SeveralSources, GoesOnAtThePrefixAndBackToOne) {
  Begin();
  ASSERT_TRUE(world_->RunToValid(kFedBySeveral, 20));
  world_->hub.AssignSeveral(kFedBySeveral, {1, 2});
  ASSERT_TRUE(world_->RunToValid(kFedBySeveral, 90));
  world_->hub.Assign(kFedBySeveral, 0);
  ExpectWhole();
  EXPECT_EQ(Outcome().sources, "g0/0, g1/0, g2/0, g0/0");
  EXPECT_LE(Written(), Total() + 4 * Window());
}

TEST_F(SeveralSources, WhatALostOneHadNotBroughtTheOthersBring) {
  Spread({0, 1, 2});
  ASSERT_TRUE(world_->RunToValid(kFedBySeveral, 60));
  world_->network.Kill(1);
  ExpectWhole();
  EXPECT_EQ(world_->hub.Said<protocol::SourceFailed>(), 1u);
  EXPECT_LE(Written(), Total() + 2 * Window());
}

TEST_F(SeveralSources, OneThatIsStoppedIsLeftForItsSilence) {
  world_->hub.tier = Tier::kDatacenter;
  Spread({0, 1, 2});
  ASSERT_TRUE(world_->RunToValid(kFedBySeveral, 60));
  world_->schedule.Pause(2);
  ExpectWhole();
  EXPECT_EQ(world_->hub.Said<protocol::SourceSilent>(), 1u);
}

TEST_F(SeveralSources, AllAreLostAndAnotherBringsTheRest) {
  Spread({1, 2});
  ASSERT_TRUE(world_->RunToValid(kFedBySeveral, 60));
  world_->network.Kill(1);
  world_->network.Kill(2);
  ExpectWhole();
  EXPECT_EQ(world_->hub.Said<protocol::SourceFailed>(), 2u);
}

// R3: it is released, and only it.
TEST_F(SeveralSources, AStreamThatEndsIsReleasedAlone) {
  Spread({0, 1, 2});
  ASSERT_TRUE(world_->RunToValid(kFedBySeveral, 60));
  const size_t released = world_->hub.Said<protocol::SourceReleased>();
  world_->hub.EndStream(kFedBySeveral, 1);
  ASSERT_TRUE(world_->RunToValid(kFedBySeveral, 100));
  EXPECT_EQ(world_->hub.Said<protocol::SourceReleased>(), released + 1);
  ExpectWhole();
}

TEST_F(SeveralSources, AnUnknownStreamDoesNotEnd) {
  Spread({0, 1});
  ASSERT_TRUE(world_->RunToValid(kFedBySeveral, 20));
  world_->Deliver(kFedBySeveral, protocol::EndStream{{1, 1}, 1});
  world_->Deliver(kFedBySeveral, protocol::EndStream{{}, 999});
  ExpectWhole();
}

// R8: as a session reports it, so that a hub which has started again knows of each.
TEST_F(SeveralSources, AllAreReported) {
  Spread({0, 1, 2});
  ASSERT_TRUE(world_->RunToValid(kFedBySeveral, 60));
  const StateReport report = world_->at(kFedBySeveral).core->Report();
  ASSERT_TRUE(report.open_fetch);
  EXPECT_EQ(report.open_fetch->plan, 1u);
  ASSERT_EQ(report.open_fetch->streams.size(), 3u);
  for (uint32_t part = 0; part < 3; ++part) {
    const protocol::OpenStream& stream = report.open_fetch->streams[part];
    EXPECT_EQ(stream.part, part);
    EXPECT_EQ(stream.source.key.group, "g" + std::to_string(part));
  }
  EXPECT_EQ(report.open_fetch->assignment, report.open_fetch->streams[0].assignment);
  ExpectWhole();
}

class CheckedSources : public SeveralSources {
 protected:
  CheckedSources() : SeveralSources(Checked()) {}
  static WorldOptions Checked() {
    WorldOptions options = Options();
    options.digests = DigestMode::kOn;
    return options;
  }
};

// R1: it is laid at the door of who brought it, and comes again from another.
TEST_F(CheckedSources, ABadChunkCostsItsSourceAlone) {
  world_->RunFor(1000);  // what is published is hashed
  for (uint32_t chunk = 30; chunk < 200; ++chunk) world_->Damage(1, chunk);
  Spread({0, 1, 2});
  ExpectWhole();
  EXPECT_EQ(world_->hub.Said<protocol::SourceFailed>(), 1u);
  EXPECT_EQ(Outcome().identity, ContentDigest{}) << "the hub of this test knows none";
}

// Of several that pass digests on, each says what another has said.
TEST_F(CheckedSources, DigestsOfAllOfThemAreOneList) {
  world_->RunFor(1000);
  Spread({0, 1, 2});
  ExpectWhole();
  EXPECT_EQ(world_->hub.Said<protocol::SourceFailed>(), 0u);
  EXPECT_GE(world_->at(kFedBySeveral).hashed_bytes, Total());
}

class OneSidedBefore : public SeveralSources {
 protected:
  OneSidedBefore() : SeveralSources(OneSided()) {}
  static WorldOptions OneSided() {
    WorldOptions options = Options();
    options.one_sided = true;
    return options;
  }
};

// R5: nothing is asked of them while gets of the plan before may still write.
TEST_F(OneSidedBefore, WaitsForTheGetsOfThePlanBefore) {
  world_->hub.tier = Tier::kHost;
  Begin();
  ASSERT_TRUE(world_->RunToValid(kFedBySeveral, 20));
  world_->hub.AssignSeveral(kFedBySeveral, {1, 2});
  ExpectWhole();
  EXPECT_LE(Written(), Total() + Window());
}

}  // namespace
}  // namespace tensorhub::agent::testing
