// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Chunks that did not change since the version before are not read again (R9): only after the bytes
// in place were hashed. The world checks the bytes of every commit.
// Covers: R5.14, R8.11

#include <gmock/gmock.h>

#include "common/remedy.h"
#include "tests/unit/seeds_to_try.h"
#include "tests/unit/worker_agent/core/world.h"
#include "worker_agent/core/skip_plan.h"

namespace tensorhub::agent::testing {
namespace {

constexpr uint64_t kChunk = 4096;
constexpr uint32_t kSpan = SkipPlan::kSpanChunks;
constexpr uint64_t kSpanBytes = kSpan * kChunk;

class SkipTest : public ::testing::TestWithParam<bool> {
 protected:
  // Four spans, the last of them short.
  WorldOptions Options(uint64_t seed, size_t workers = 2) const {
    return {.seed = seed,
            .workers = workers,
            .total_bytes = 3 * kSpanBytes + 5 * kChunk + 100,
            .one_sided = GetParam(),
            .digests = DigestMode::kOn};
  }
  // Worker 0 publishes the version, and `reader` fetches it.
  static void Bring(World& world, size_t reader, VersionNumber version) {
    ASSERT_TRUE(world.Publish(0, version).ok());
    ASSERT_EQ(world.Fetch(reader), absl::OkStatus());
    ASSERT_TRUE(world.Holds(reader, version));
  }
  // As Bring, for the version after, in the same buffers.
  static void BringNext(World& world, size_t reader, VersionNumber version,
                        const std::vector<uint32_t>& changed) {
    world.Derive(version, version - 1, changed);
    ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
    Bring(world, reader, version);
  }
  // In the middle of a fetch into buffers that held a version before.
  static bool RunToMiddle(World& world, size_t reader, uint32_t chunks) {
    return world.Run([&] {
      const uint32_t valid = world.at(reader).word.valid_chunks;
      return valid >= chunks && valid < world.chunks();
    });
  }
  static FetchOutcome LastFetch(World& world, size_t reader) {
    return world.at(reader).done.back().fetch;
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, SkipTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "OneSided" : "Served"; });

TEST_P(SkipTest, SpansThatDidNotChangeAreLeftOut) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World world(Options(seed));
    Bring(world, 1, 5);
    BringNext(world, 1, 6, {kSpan + 3});
    EXPECT_EQ(LastFetch(world, 1).bytes_read, kSpanBytes);
    EXPECT_EQ(LastFetch(world, 1).bytes_skipped, world.Content(6).size() - kSpanBytes);
    BringNext(world, 1, 7, {0, 3 * kSpan + 5});
    EXPECT_EQ(LastFetch(world, 1).bytes_skipped, 2 * kSpanBytes);
    BringNext(world, 1, 8, {});
    EXPECT_EQ(LastFetch(world, 1).bytes_read, 0u);
    EXPECT_EQ(LastFetch(world, 1).bytes_skipped, world.Content(8).size());
  }
}

TEST_P(SkipTest, WhatTheOwnerWroteToIsRead) {
  World world(Options(1));
  Bring(world, 1, 5);
  ASSERT_TRUE(world.Do(1, UnpublishVerb{}).ok());  // and scribbles
  BringNext(world, 1, 6, {});
  EXPECT_EQ(LastFetch(world, 1).bytes_skipped, 0u);
  ASSERT_TRUE(world.Do(1, UnpublishVerb{}).ok());
  world.at(1).memory = world.Content(6);
  world.Damage(1, 2 * kSpan + 1);  // all but this is still there
  BringNext(world, 1, 7, {});
  EXPECT_EQ(LastFetch(world, 1).bytes_read, kSpanBytes);
}

// A fetch that failed leaves some of both versions.
TEST_P(SkipTest, AfterAnInterruptedFetch) {
  int interrupted = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    World world(Options(seed));
    Bring(world, 1, 5);
    world.Derive(6, 5, {1, kSpan + 1, 2 * kSpan + 1});
    ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
    ASSERT_TRUE(world.Publish(0, 6).ok());
    world.Ask(1, FetchVerb{});
    ASSERT_TRUE(RunToMiddle(world, 1, 1 + static_cast<uint32_t>(seed)));
    world.hub.Abort(1, absl::AbortedError("a rank failed"));
    interrupted += !world.Finish(1).ok();
    EXPECT_EQ(world.Fetch(1), absl::OkStatus());
    EXPECT_TRUE(world.Holds(1, 6));
  }
  EXPECT_GT(interrupted, 5);
}

// R6: into buffers that held nothing before.
TEST_P(SkipTest, AFetchThatFailedIsGoneOnWith) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    World world(Options(seed));
    ASSERT_TRUE(world.Publish(0, 5).ok());
    world.Ask(1, FetchVerb{});
    ASSERT_TRUE(RunToMiddle(world, 1, kSpan + static_cast<uint32_t>(seed)));
    world.hub.Abort(1, absl::UnavailableError("every source failed"));
    if (world.Finish(1).ok()) continue;  // it was faster
    EXPECT_EQ(world.Fetch(1), absl::OkStatus());
    EXPECT_TRUE(world.Holds(1, 5));
    const FetchOutcome fetch = LastFetch(world, 1);
    EXPECT_GE(fetch.bytes_skipped, kSpanBytes);
    EXPECT_EQ(fetch.bytes_read + fetch.bytes_skipped, world.Content(5).size());
  }
}

// R8: the only source is silent for longer than a reader's patience, and than a lease.
TEST_P(SkipTest, AnOutageIsWaitedOut) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    World world(Options(seed));
    ASSERT_TRUE(world.Publish(0, 5).ok());
    world.Ask(1, FetchVerb{{}, 60'000});
    ASSERT_TRUE(RunToMiddle(world, 1, kSpan + static_cast<uint32_t>(seed)));
    world.schedule.Pause(0);
    world.RunFor(20'000);
    world.schedule.Resume(0);
    EXPECT_EQ(world.Finish(1), absl::OkStatus());
    EXPECT_TRUE(world.Holds(1, 5));
    const FetchOutcome fetch = LastFetch(world, 1);
    EXPECT_EQ(fetch.bytes_read + fetch.bytes_skipped, world.Content(5).size());
    // A stopped one's memory is read, so that there is no outage.
    EXPECT_GE(fetch.bytes_skipped, GetParam() ? 0 : kSpanBytes);
  }
}

// R6: another rank's source is; this one reads, or has read, and hears of it from the hub.
TEST_P(SkipTest, AnOutageOfAnotherRankIsWaitedOut) {
  const absl::Status outage = AsOutage(absl::UnavailableError("every source of shard 1 failed"));
  World world(Options(1));
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{{}, 60'000});
  ASSERT_TRUE(RunToMiddle(world, 1, 2 * kSpan));
  world.hub.Abort(1, outage);
  size_t finishes = 0;
  world.hub.script = [&](size_t worker, const Call& call) {
    const bool finished = std::holds_alternative<protocol::FinishRead>(call.request);
    if (!finished || ++finishes != 2) return false;
    world.hub.Reply(worker, call.op, outage, FinishReadReply{5});
    return true;
  };
  EXPECT_EQ(world.Finish(1), absl::OkStatus());
  EXPECT_EQ(finishes, 3u);
  EXPECT_TRUE(world.Holds(1, 5));
  EXPECT_EQ(LastFetch(world, 1).bytes_skipped, world.Content(5).size());
}

TEST_P(SkipTest, WhoWouldRatherNotWaitHearsOfAnOutageAtOnce) {
  World world(Options(1));
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{{}, 60'000, /*waits_out_outages=*/false});
  ASSERT_TRUE(RunToMiddle(world, 1, kSpan));
  const TimeMs began = world.now_ms();
  world.hub.Abort(1, AsOutage(absl::UnavailableError("every source failed")));
  EXPECT_EQ(world.Finish(1), absl::UnavailableError("every source failed"));
  EXPECT_LE(world.now_ms() - began, 1'000);
}

// Nobody holds the version, and the hub says whether somebody may come back with it.
TEST_P(SkipTest, WhatIsAwayIsAskedForAgain) {
  World world(Options(1));
  ASSERT_TRUE(world.Publish(0, 5).ok());
  for (const bool away : {true, false}) {
    int joins = 0;
    world.hub.script = [&](size_t worker, const Call& call) {
      if (!std::holds_alternative<protocol::JoinFetch>(call.request) || ++joins > 2) return false;
      world.hub.Reply(worker, call.op, AsOutage(absl::NotFoundError("no holder"), away));
      return true;
    };
    EXPECT_EQ(world.Fetch(1).code(), away ? absl::StatusCode::kOk : absl::StatusCode::kNotFound);
    EXPECT_EQ(joins, away ? 3 : 1);
  }
}

TEST_P(SkipTest, ACrashAfterAnOutageIsHeardAtOnce) {
  World world(Options(1));
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{{}, 60'000});
  ASSERT_TRUE(RunToMiddle(world, 1, kSpan));
  world.schedule.Pause(0);
  world.RunFor(GetParam() ? 0 : 8'000);
  world.schedule.Resume(0);
  ASSERT_TRUE(RunToMiddle(world, 1, 2 * kSpan));
  const TimeMs began = world.now_ms();
  world.network.Kill(0);
  EXPECT_TRUE(absl::IsUnavailable(world.Finish(1)));
  EXPECT_LE(world.now_ms() - began, 1'000);
}

TEST_P(SkipTest, AnOutageIsWaitedOutUntilTheDeadline) {
  if (GetParam()) GTEST_SKIP() << "a stopped source's memory is read";
  World world(Options(1));
  world.hub.tier = Tier::kDatacenter;
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{{}, 20'000});
  ASSERT_TRUE(RunToMiddle(world, 1, kSpan));
  const TimeMs began = world.now_ms();
  world.schedule.Pause(0);
  const absl::Status ended = world.Finish(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(ended) || absl::IsUnavailable(ended)) << ended;
  EXPECT_THAT(ended.message(), ::testing::HasSubstr("no source is left"));  // FakeHub's words
  EXPECT_LE(world.now_ms() - began, 20'500);
  EXPECT_GE(world.now_ms() - began, 19'000);
}

// The prefix of one that failed, and behind it the version before.
TEST_P(SkipTest, AFetchThatFailedLeavesWhatWasBehindIt) {
  World world(Options(1));
  Bring(world, 1, 5);
  world.Derive(6, 5, {3});
  ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
  ASSERT_TRUE(world.Publish(0, 6).ok());
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(RunToMiddle(world, 1, 8));
  world.hub.Abort(1, absl::UnavailableError("every source failed"));
  ASSERT_FALSE(world.Finish(1).ok());
  EXPECT_EQ(world.Fetch(1), absl::OkStatus());
  EXPECT_GE(LastFetch(world, 1).bytes_skipped, world.Content(6).size() - kSpanBytes);
}

// One that skips is ahead of its source, and serves what it skipped.
TEST_P(SkipTest, InAChain) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    World world(Options(seed, 4));
    world.hub.choose = [](size_t reader) { return reader - 1; };
    Bring(world, 1, 5);
    ASSERT_EQ(world.Fetch(3), absl::OkStatus());
    world.Derive(6, 5, {2, 3 * kSpan});
    ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
    ASSERT_TRUE(world.Publish(0, 6).ok());
    for (const size_t reader : {1u, 2u, 3u}) world.Ask(reader, FetchVerb{});
    for (const size_t reader : {1u, 2u, 3u}) {
      EXPECT_EQ(world.Finish(reader), absl::OkStatus());
      EXPECT_TRUE(world.Holds(reader, 6));
    }
    EXPECT_EQ(LastFetch(world, 1).bytes_skipped, 2 * kSpanBytes);
    EXPECT_EQ(LastFetch(world, 2).bytes_skipped, 0u) << "it held nothing before";
    EXPECT_EQ(LastFetch(world, 3).bytes_skipped, 2 * kSpanBytes);
  }
}

TEST_P(SkipTest, AndLosesItsSource) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    World world(Options(seed, 3));
    Bring(world, 1, 5);
    world.Derive(6, 5, {0, 2 * kSpan});
    ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
    ASSERT_TRUE(world.Publish(0, 6).ok());
    ASSERT_TRUE(world.Publish(2, 6).ok());
    world.hub.choose = [](size_t) { return size_t{0}; };
    world.Ask(1, FetchVerb{});
    ASSERT_TRUE(RunToMiddle(world, 1, static_cast<uint32_t>(seed)));
    world.hub.choose = [](size_t) { return size_t{2}; };
    world.network.BreakLink(1, 0);
    EXPECT_EQ(world.Finish(1), absl::OkStatus());
    EXPECT_TRUE(world.Holds(1, 6));
    const FetchOutcome fetch = LastFetch(world, 1);
    EXPECT_EQ(fetch.bytes_read + fetch.bytes_skipped, world.Content(6).size());
    EXPECT_GT(fetch.bytes_skipped, 0u);
  }
}

TEST_P(SkipTest, NothingOnOneHostByDefault) {
  World world(Options(1));
  CoreOptions options = world.at(1).options;
  options.digests = DigestMode::kAuto;
  world.Restart(1, options);
  world.hub.tier = Tier::kHost;
  Bring(world, 1, 5);
  BringNext(world, 1, 6, {});
  EXPECT_EQ(LastFetch(world, 1).bytes_skipped, 0u);
  EXPECT_EQ(world.at(1).hashed_bytes, 0u);
}

// Some changes, some damage on the way, some seeds.
TEST_P(SkipTest, AtRandom) {
  constexpr uint64_t kSeeds = SeedsToTry(150);
  uint64_t skipped = 0;
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    World world(Options(seed, 3));
    Random random(seed);
    ASSERT_TRUE(world.Publish(0, 5).ok());
    world.network.corrupted_percent = seed % 3 == 0 ? 1 : 0;
    for (VersionNumber version = 5; version < 9; ++version) {
      if (version > 5) {
        std::vector<uint32_t> changed;
        for (uint64_t i = random.Below(4); i > 0; --i) {
          changed.push_back(static_cast<uint32_t>(random.Below(world.chunks())));
        }
        world.Derive(version, version - 1, changed);
        ASSERT_TRUE(world.Do(0, UnpublishVerb{}).ok());
        ASSERT_TRUE(world.Publish(0, version).ok());
      }
      world.Ask(1, FetchVerb{});
      world.Ask(2, FetchVerb{});
      for (const size_t reader : {1u, 2u}) {
        if (!world.Finish(reader).ok()) continue;
        EXPECT_TRUE(world.Holds(reader, version));
        skipped += LastFetch(world, reader).bytes_skipped;
      }
    }
  }
  EXPECT_GT(skipped, kSeeds * kSpanBytes);
}

}  // namespace
}  // namespace tensorhub::agent::testing
