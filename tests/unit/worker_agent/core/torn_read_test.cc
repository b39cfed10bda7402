// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R4: a source that frees its buffers in the middle of a read, and overwrites them at once, is
// never believed. The world checks the bytes of every chunk at the moment it is committed; here are
// the seeds that make it likely that a read is torn, and proof that reads were.
// Covers: R4.1, R4.2, R4.3, R4.5

#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

struct Tally {
  int completed = 0;
  int interrupted = 0;
  uint64_t torn_bytes = 0;  // moved, but never committed
};

// One reader; its source unpublishes after a while, granting readers no time at all.
void ReadWhileOverwritten(bool one_sided, bool devices, uint64_t seed, Tally& tally) {
  World world({.seed = seed,
               .workers = 3,
               .total_bytes = 6 * 4096,
               .one_sided = one_sided,
               .devices = devices});
  world.network.rendezvous_percent = world.schedule.random.Below(101);
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{});
  if (seed % 2 == 0) {  // a chain, whose middle must not pass on what it has not confirmed
    world.hub.choose = [](size_t reader) { return reader - 1; };
    world.Ask(2, FetchVerb{});
  }
  world.RunFor(TimeMs(world.schedule.random.Below(60)));
  world.Ask(0, UnpublishVerb{.drain_ms = 0});
  ASSERT_TRUE(world.Finish(0).ok());
  const bool fetched = world.Finish(1).ok();
  if (seed % 2 == 0) world.Finish(2).IgnoreError();
  ++(fetched ? tally.completed : tally.interrupted);
  const uint64_t valid = world.at(1).done.back().fetch.bytes_read;
  if (!fetched) tally.torn_bytes += world.at(1).written_bytes - valid;
}

void ReadManyTimes(bool one_sided, bool devices) {
  Tally tally;
  for (uint64_t seed = 1; seed <= 2000 && !::testing::Test::HasFailure(); ++seed) {
    ReadWhileOverwritten(one_sided, devices, seed, tally);
  }
  EXPECT_GT(tally.completed, 100);
  EXPECT_GT(tally.interrupted, 500);
  EXPECT_GT(tally.torn_bytes, 100'000u);
}

TEST(TornRead, IsNeverCommittedWhenServed) { ReadManyTimes(false, false); }
TEST(TornRead, IsNeverCommittedWhenOneSided) { ReadManyTimes(true, false); }
TEST(TornRead, IsNeverCommittedBetweenDevices) { ReadManyTimes(true, true); }

// The generation a reader was assigned, not whichever it finds, is what it reads under.
TEST(TornRead, TheNextVersionInTheSameBuffersIsNotTakenForTheFirst) {
  for (const bool one_sided : {false, true}) {
    for (uint64_t seed = 1; seed <= 300 && !::testing::Test::HasFailure(); ++seed) {
      World world({.seed = seed, .workers = 3, .one_sided = one_sided});
      ASSERT_TRUE(world.Publish(0, 5).ok());
      ASSERT_TRUE(world.Publish(2, 5).ok());
      world.hub.choose = [](size_t) { return size_t{0}; };
      world.Ask(1, FetchVerb{{VersionSelector::Kind::kExact, 5}});
      world.RunToValid(1, static_cast<uint32_t>(seed % 8));
      world.hub.choose = [](size_t) { return size_t{2}; };
      ASSERT_TRUE(world.Do(0, UnpublishVerb{.drain_ms = 0}).ok());
      ASSERT_TRUE(world.Publish(0, 6).ok());
      EXPECT_TRUE(world.Finish(1).ok());
      EXPECT_TRUE(world.Holds(1, 5));
    }
  }
}

}  // namespace
}  // namespace tensorhub::agent::testing
