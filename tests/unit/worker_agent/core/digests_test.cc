// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Chunk digests: made by the publisher, passed on, checked before a commit. The world checks the
// bytes of every chunk that is committed.
// Covers: R4.11, R8.12

#include "worker_agent/core/digests.h"

#include <algorithm>

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

size_t LossesSaid(const World& world) {
  return static_cast<size_t>(
      std::count_if(world.hub.said.begin(), world.hub.said.end(), [](const auto& entry) {
        const auto* failed = std::get_if<protocol::SourceFailed>(&entry.second);
        return failed != nullptr && absl::IsDataLoss(failed->reason);
      }));
}

std::optional<protocol::ProbeAnswer> LastAnswer(const World& world, size_t index) {
  std::optional<protocol::ProbeAnswer> last;
  for (const auto& [worker, message] : world.hub.said) {
    const auto* answer = std::get_if<protocol::ProbeAnswer>(&message);
    if (worker == index && answer != nullptr) last = *answer;
  }
  return last;
}

TEST(DigestList, TravelsAsWritten) {
  Digests digests;
  digests.Append({1, ~uint64_t{0}, 3});
  EXPECT_EQ(DecodeDigests(EncodeDigests(digests, 1, 2)), (std::vector<uint64_t>{~uint64_t{0}, 3}));
  EXPECT_EQ(DecodeDigests(""), std::vector<uint64_t>{});
  EXPECT_FALSE(DecodeDigests("1234567"));
  EXPECT_FALSE(DecodeDigests(std::string(8 * (kDigestsPerMessage + 1), 'x')));
}

// How bytes come, and of how many chunks in a hundred the digests with them.
struct Way {
  const char* name = "";
  bool one_sided = false;
  uint64_t digests_on_the_way = 0;
};

class DigestsTest : public ::testing::TestWithParam<Way> {
 protected:
  WorldOptions Options(size_t workers, uint64_t seed = 1) const {
    return {.seed = seed,
            .workers = workers,
            .one_sided = GetParam().one_sided,
            .digests = DigestMode::kOn,
            .digests_on_the_way_percent = GetParam().digests_on_the_way};
  }
  // What a reader has checked, where no other one is one-sided.
  static uint64_t Checked(World& world, size_t reader) {
    return world.at(reader).hashed_bytes + world.network.digested_on_the_way_bytes;
  }
  // The digests that the publisher made are there.
  static bool RunToDigests(World& world, size_t index) {
    return world.Run([&] { return world.at(index).hashed_bytes == world.Content(5).size(); });
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, DigestsTest,
                         ::testing::Values(Way{"Served"}, Way{"OneSided", true},
                                           Way{"OneSidedWithDigests", true, 100},
                                           Way{"OneSidedWithSomeDigests", true, 50}),
                         [](const auto& param) { return param.param.name; });

TEST_P(DigestsTest, OfEveryChunkAreChecked) {
  World world(Options(2));
  ASSERT_TRUE(world.Publish(0, 5).ok());
  EXPECT_EQ(world.Fetch(1), absl::OkStatus());
  EXPECT_EQ(world.at(0).hashed_bytes, world.Content(5).size());
  EXPECT_EQ(Checked(world, 1), world.Content(5).size());
  EXPECT_EQ(world.at(0).hashed_beside_bytes, 0u);
  const uint64_t here = world.at(1).hashed_bytes;
  EXPECT_EQ(world.at(1).hashed_beside_bytes, GetParam().one_sided ? here : 0u)
      << "where the source is idle";
  const uint64_t on_the_way = GetParam().digests_on_the_way;
  EXPECT_EQ(here == 0, on_the_way == 100) << "once is enough";
  EXPECT_EQ(here == world.Content(5).size(), on_the_way == 0);
}

TEST_P(DigestsTest, PublishDoesNotWaitForThem) {
  World world(Options(2));
  world.hashing_hangs = true;
  EXPECT_EQ(world.Publish(0, 5), absl::OkStatus());
  world.Ask(1, FetchVerb{});
  world.RunFor(1000);
  EXPECT_GE(world.at(1).written_bytes, 3 * 4096u) << "a window of bytes has come";
  EXPECT_EQ(world.at(1).word.valid_chunks, 0u) << "and waits";
  world.hashing_hangs = false;
  EXPECT_EQ(world.Finish(1), absl::OkStatus());
  EXPECT_EQ(world.at(1).written_bytes, world.Content(5).size());
}

TEST_P(DigestsTest, OfAnEarlierGenerationAreDropped) {
  World world(Options(2));
  world.hashing_hangs = true;
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.RunFor(20);
  ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  ASSERT_TRUE(world.Publish(0, 6).ok());
  world.hashing_hangs = false;
  EXPECT_EQ(world.Fetch(1), absl::OkStatus());
  EXPECT_TRUE(world.Holds(1, 6));
  EXPECT_EQ(LossesSaid(world), 0u);
}

TEST_P(DigestsTest, CatchWhatChangedOnItsWay) {
  int fetched = 0;
  size_t caught = 0;
  for (uint64_t seed = 1; seed <= 300 && !HasFailure(); ++seed) {
    World world(Options(3, seed));
    ASSERT_TRUE(world.Publish(0, 5).ok());
    ASSERT_TRUE(world.Publish(2, 5).ok());
    world.network.corrupted_percent = 2;
    fetched += world.Fetch(1).ok();
    caught += LossesSaid(world);
    EXPECT_TRUE(world.Holds(0, 5) && world.Holds(2, 5)) << "the sources' bytes are as they were";
  }
  EXPECT_GT(fetched, 200);
  EXPECT_GT(caught, 50u);
}

// R8: a reader's word does not take a source away; what the source finds of itself does.
TEST_P(DigestsTest, ADamagedSourceGivesItselfUp) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World world(Options(3, seed));
    ASSERT_TRUE(world.Publish(0, 5).ok());
    ASSERT_TRUE(world.Publish(2, 5).ok());
    ASSERT_TRUE(RunToDigests(world, 0));
    world.Damage(0, 4);
    world.hub.choose = [](size_t) { return size_t{0}; };
    EXPECT_EQ(world.Fetch(1), absl::OkStatus());
    EXPECT_TRUE(world.Holds(1, 5));
    EXPECT_EQ(LossesSaid(world), 1u);
    EXPECT_EQ(world.at(1).done.back().fetch.bytes_read, world.Content(5).size());
    ASSERT_TRUE(world.Run([&] { return !world.at(0).core->Report().holding; }));
    EXPECT_TRUE(absl::IsDataLoss(world.at(0).core->Health()));
    EXPECT_EQ(world.at(0).copy_released, 1) << "a copy would keep its memory";
    EXPECT_EQ(world.Publish(0, 6), absl::OkStatus()) << "the owner may publish anew";
    EXPECT_EQ(world.at(0).core->Health(), absl::OkStatus());
  }
}

TEST_P(DigestsTest, TheOnlySourceDamagedEndsTheFetch) {
  World world(Options(2));
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(RunToDigests(world, 0));
  world.Damage(0, 4);
  EXPECT_FALSE(world.Fetch(1).ok());
  EXPECT_FALSE(world.at(0).core->Report().holding);
  EXPECT_FALSE(world.at(1).core->Report().holding);
}

TEST_P(DigestsTest, ASourceAsWholeAsEverIsTriedOnceMore) {
  World world(Options(2));
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(RunToDigests(world, 0));
  world.network.corrupted_percent = 100;
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.Run([&] { return LossesSaid(world) == 1; }));
  world.network.corrupted_percent = 0;
  EXPECT_EQ(world.Finish(1), absl::OkStatus());
  ASSERT_TRUE(LastAnswer(world, 0));
  EXPECT_TRUE(LastAnswer(world, 0)->holds && LastAnswer(world, 0)->verified);
  EXPECT_EQ(world.at(0).hashed_bytes, 2 * world.Content(5).size());
}

// A damaged relay is found out by the one behind it, by digests that are not the relay's own.
TEST_P(DigestsTest, ArePassedOnByThoseThatDoNotCheck) {
  for (const DigestMode relay : {DigestMode::kOff, DigestMode::kAuto}) {
    World world(Options(3));
    CoreOptions options = world.at(1).options;
    options.digests = relay;
    world.Restart(1, options);
    world.hub.tier = Tier::kHost;
    ASSERT_TRUE(world.Publish(0, 5).ok());
    ASSERT_TRUE(RunToDigests(world, 0));
    ASSERT_EQ(world.Fetch(1), absl::OkStatus());
    EXPECT_EQ(Checked(world, 1), 0u);
    world.hub.choose = [](size_t) { return size_t{1}; };
    world.Damage(1, 2);
    EXPECT_EQ(world.Fetch(2), absl::OkStatus()) << "the publisher has it as it was";
    EXPECT_EQ(LossesSaid(world), 1u);
    ASSERT_TRUE(world.Run([&] { return !world.at(1).core->Report().holding; }));
    EXPECT_EQ(world.at(2).done.back().fetch.sources, "g1/0, g0/0");
  }
}

TEST_P(DigestsTest, AReaderThatDoesNotCheckHasThemAllInTheEnd) {
  World world(Options(3));
  CoreOptions options = world.at(1).options;
  options.digests = DigestMode::kAuto;
  world.Restart(1, options);
  world.hub.tier = Tier::kHost;
  world.hashing_hangs = true;
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(1, world.chunks() - 1));
  world.RunFor(500);
  EXPECT_FALSE(world.Idle(1)) << "or those behind it would never get the digests";
  world.hashing_hangs = false;
  ASSERT_EQ(world.Finish(1), absl::OkStatus());
  ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  EXPECT_EQ(world.Fetch(2), absl::OkStatus());
  EXPECT_EQ(Checked(world, 2), world.Content(5).size());
}

TEST_P(DigestsTest, AreNotWaitedForWhereThePublisherMakesNone) {
  World world(Options(3));
  CoreOptions options = world.at(0).options;
  options.digests = DigestMode::kOff;
  world.Restart(0, options);
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.hub.choose = [](size_t reader) { return reader - 1; };
  EXPECT_EQ(world.Fetch(1), absl::OkStatus());
  EXPECT_EQ(world.Fetch(2), absl::OkStatus());
  EXPECT_EQ(world.at(1).hashed_bytes + Checked(world, 2), 0u);
}

TEST_P(DigestsTest, ACheckWaitsUntilTheyAreMade) {
  World world(Options(2));
  world.hashing_hangs = true;
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Deliver(0, protocol::Probe{world.at(0).word.generation, /*verify=*/true});
  world.RunFor(100);
  EXPECT_FALSE(LastAnswer(world, 0));
  world.hashing_hangs = false;
  ASSERT_TRUE(world.Run([&] { return LastAnswer(world, 0).has_value(); }));
  EXPECT_TRUE(LastAnswer(world, 0)->verified);
  EXPECT_EQ(world.at(0).hashed_bytes, 2 * world.Content(5).size());
}

// What it has committed went bad while it reads on: its own fetch has failed as well.
TEST_P(DigestsTest, ADamagedRelayFailsItsOwnFetch) {
  World world(Options(2));
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(RunToDigests(world, 0));
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(1, 3));
  world.schedule.Pause(0);
  world.network.gets_hang = true;
  world.Damage(1, 1);
  world.Deliver(1, protocol::Probe{world.at(1).word.generation, /*verify=*/true});
  ASSERT_TRUE(world.Run([&] { return LastAnswer(world, 1).has_value(); }));
  EXPECT_FALSE(LastAnswer(world, 1)->holds);
  world.network.gets_hang = false;
  world.schedule.Resume(0);
  EXPECT_TRUE(absl::IsDataLoss(world.Finish(1)));
  EXPECT_FALSE(world.at(1).core->Report().holding);
}

TEST(DigestsOff, AskForNothingToBeHashed) {
  World world({.workers = 2});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  ASSERT_TRUE(world.Fetch(1).ok());
  world.Deliver(0, protocol::Probe{world.at(0).word.generation, /*verify=*/true});
  EXPECT_TRUE(LastAnswer(world, 0)->holds);
  EXPECT_EQ(world.at(0).hashed_bytes + world.at(1).hashed_bytes, 0u);
}

}  // namespace
}  // namespace tensorhub::agent::testing
