// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One read whose sources bring a part each, as those of another sharding do (R1, R4, R5). Here the
// parts are interleaved pieces of the same shard, so that each byte's right place is known.
// Covers: R5.9, R4.9

#include "common/random.h"
#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

constexpr size_t kFedByParts = 3;
constexpr uint64_t kPartsChunk = 4096;

// Sent, and checked on the way or not; or got, from sources on the same host.
enum class PartsCome { kUnchecked, kChecked, kByGets };

class PartsOfShards : public ::testing::TestWithParam<PartsCome> {
 protected:
  PartsOfShards() {
    const bool checked = GetParam() == PartsCome::kChecked;
    world_ = std::make_unique<World>(
        WorldOptions{.workers = 4,
                     .chunk_bytes = kPartsChunk,
                     .total_bytes = 150 * kPartsChunk + 100,
                     .one_sided = ByGets(),
                     .digests = checked ? DigestMode::kOn : DigestMode::kOff});
    if (ByGets()) world_->hub.tier = Tier::kHost;
    for (size_t source = 0; source < kFedByParts; ++source) {
      EXPECT_TRUE(world_->Publish(source, 5).ok());
    }
  }
  static bool ByGets() { return GetParam() == PartsCome::kByGets; }
  // Runs of this length, dealt to so many parts in turn, as one strided item each and a rest.
  ReadParts Dealt(size_t parts, uint64_t run) const {
    auto dealt = std::make_shared<std::vector<ReadStream>>(parts);
    const uint64_t total = world_->at(0).memory.size();
    const uint64_t rounds = total / (run * parts);
    for (size_t part = 0; part < parts && rounds > 0; ++part) {
      ReadItem item;
      item.source_offset = item.reader_offset = part * run;
      item.run_bytes = run;
      item.count = rounds;
      item.source_stride = item.reader_stride = rounds == 1 ? 0 : run * parts;
      EXPECT_TRUE((*dealt)[part].Append(item));
    }
    ReadItem rest;
    rest.source_offset = rest.reader_offset = rounds * run * parts;
    rest.run_bytes = total - rest.source_offset;
    EXPECT_TRUE(rest.run_bytes == 0 || (*dealt)[0].Append(rest));
    return dealt;
  }
  void Begin(uint32_t chunks = 0) {
    world_->hub.choose = [](size_t) { return size_t{1}; };
    world_->Ask(kFedByParts, FetchVerb{});
    ASSERT_TRUE(world_->Run([&] { return world_->hub.SourceOf(kFedByParts).has_value(); }));
    ASSERT_TRUE(chunks == 0 || world_->RunToValid(kFedByParts, chunks));
  }
  void ExpectWhole() {
    EXPECT_EQ(world_->Finish(kFedByParts), absl::OkStatus());
    EXPECT_TRUE(world_->Holds(kFedByParts, 5));
    EXPECT_EQ(world_->at(kFedByParts).done.back().fetch.bytes_read, world_->Content(5).size());
  }

  std::unique_ptr<World> world_;
};
INSTANTIATE_TEST_SUITE_P(Come, PartsOfShards,
                         ::testing::Values(PartsCome::kUnchecked, PartsCome::kChecked,
                                           PartsCome::kByGets),
                         [](const auto& param) {
                           if (param.param == PartsCome::kByGets) return "ByGets";
                           return param.param == PartsCome::kChecked ? "Checked" : "Unchecked";
                         });

TEST_P(PartsOfShards, EachBringsItsOwn) {
  for (const uint64_t run : {1000u, 4096u, 7u, 100'000u}) {
    Begin();
    world_->hub.AssignParts(kFedByParts, {0, 1, 2}, Dealt(3, run));
    ExpectWhole();
    EXPECT_EQ(world_->at(kFedByParts).done.back().fetch.one_sided, ByGets());
    ASSERT_TRUE(world_->Do(kFedByParts, UnpublishVerb{}).ok());
  }
}

TEST_P(PartsOfShards, GoesOnAtThePrefix) {
  Begin(20);
  world_->hub.AssignParts(kFedByParts, {1, 2}, Dealt(2, 3000));
  ASSERT_TRUE(world_->RunToValid(kFedByParts, 60));
  world_->hub.Assign(kFedByParts, 0);
  ASSERT_TRUE(world_->RunToValid(kFedByParts, 90));
  world_->hub.AssignParts(kFedByParts, {2, 0}, Dealt(2, 5000));
  ExpectWhole();
}

// The next reader finds its chunks and their digests here from the first one on.
TEST_P(PartsOfShards, IsASourceMeanwhile) {
  Begin();
  world_->hub.AssignParts(kFedByParts, {1, 2}, Dealt(2, 3000));
  ASSERT_TRUE(world_->RunToValid(kFedByParts, 30));
  ASSERT_TRUE(world_->Do(0, UnpublishVerb{}).ok());
  world_->hub.choose = [](size_t) { return kFedByParts; };
  world_->Ask(0, FetchVerb{});
  ExpectWhole();
  EXPECT_EQ(world_->Finish(0), absl::OkStatus());
  EXPECT_TRUE(world_->Holds(0, 5));
  EXPECT_EQ(world_->at(0).done.back().fetch.sources, "g3/0");
}

// Whatever makes the list of digests longer, or ends it, is told to whoever was there before.
TEST_P(PartsOfShards, WhoFollowsFromTheBeginningComesToTheEndAsWell) {
  ASSERT_TRUE(world_->Do(0, UnpublishVerb{}).ok());
  Begin();
  world_->hub.choose = [](size_t) { return kFedByParts; };
  world_->Ask(0, FetchVerb{});
  world_->RunFor(50);
  world_->hub.AssignParts(kFedByParts, {1, 2}, Dealt(2, 3000));
  ExpectWhole();
  EXPECT_EQ(world_->Finish(0), absl::OkStatus());
  EXPECT_TRUE(world_->Holds(0, 5));
}

TEST_P(PartsOfShards, APlanIsMadeOnceForAllVersions) {
  Begin();
  const ReadParts parts = Dealt(3, 1000);
  world_->hub.AssignParts(kFedByParts, {0, 1, 2}, parts);
  ExpectWhole();
  ASSERT_TRUE(world_->Do(kFedByParts, UnpublishVerb{}).ok());
  Begin();
  world_->hub.AssignParts(kFedByParts, {0, 1, 2}, parts);
  ExpectWhole();
  EXPECT_EQ(world_->hub.plans_wanted, 1);
}

TEST_P(PartsOfShards, APlanIsAskedForAgainWhileTheHubIsAway) {
  world_->hub.plan_answer = absl::UnavailableError("away");
  Begin();
  world_->hub.AssignParts(kFedByParts, {1, 2}, Dealt(2, 1000));
  world_->RunFor(2500);
  EXPECT_GE(world_->hub.plans_wanted, 2);
  world_->hub.plan_answer = absl::OkStatus();
  ExpectWhole();
}

// Nothing was asked of any source by then, and the buffers are the owner's again.
TEST_P(PartsOfShards, WithoutAPlanTheFetchFails) {
  world_->hub.plan_answer = absl::FailedPreconditionError("tensor w: F32 there, F16 here");
  Begin(3);
  const uint64_t read = world_->at(kFedByParts).written_bytes;
  world_->hub.AssignParts(kFedByParts, {1, 2}, Dealt(2, 1000));
  const absl::Status status = world_->Finish(kFedByParts);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_LE(world_->at(kFedByParts).written_bytes, read + world_->Content(5).size());
}

// R9: of a hub whose word does not fit the layouts.
TEST_P(PartsOfShards, APlanThatLacksBytesIsRefused) {
  Begin();
  auto parts = std::make_shared<std::vector<ReadStream>>(*Dealt(2, 1000));
  parts->back() = ReadStream();
  world_->hub.AssignParts(kFedByParts, {1, 2}, parts);
  EXPECT_EQ(world_->Finish(kFedByParts).code(), absl::StatusCode::kInternal);
}

// R4: what was proven stays, what was not comes again, from whoever brings the part then.
TEST_P(PartsOfShards, ALostSourceEndsItsPartOnly) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Begin();
    world_->hub.AssignParts(kFedByParts, {0, 1}, Dealt(2, 1 + seed * 700));
    ASSERT_TRUE(world_->RunToValid(kFedByParts, static_cast<uint32_t>(seed * 10)));
    const size_t failed = world_->hub.Said<protocol::SourceFailed>();
    world_->network.BreakLink(kFedByParts, 1);
    ASSERT_TRUE(world_->Run([&] { return world_->hub.Said<protocol::SourceFailed>() > failed; }));
    world_->hub.AssignPart(kFedByParts, 1, 2);
    ExpectWhole();
    ASSERT_TRUE(world_->Do(kFedByParts, UnpublishVerb{}).ok());
    world_->RunFor(5000);
  }
}

// A source whose memory cannot be mapped sends what is wanted.
TEST_P(PartsOfShards, AreSentWhereTheyCannotBeGot) {
  world_->network.import_failure_percent = 50;
  for (const uint64_t run : {1000u, 4096u, 60'000u}) {
    Begin();
    world_->hub.AssignParts(kFedByParts, {0, 1, 2}, Dealt(3, run));
    ExpectWhole();
    ASSERT_TRUE(world_->Do(kFedByParts, UnpublishVerb{}).ok());
  }
}

// R4: what was got is believed when the source's word, read behind it, still stands.
TEST_P(PartsOfShards, WhatTheSourceTookBackMeanwhileIsNotBelieved) {
  Begin();
  world_->hub.AssignParts(kFedByParts, {0, 1}, Dealt(2, 900));
  ASSERT_TRUE(world_->RunToValid(kFedByParts, 40));
  world_->at(1).word = {world_->at(1).word.generation + 1, 0};
  world_->at(1).memory.assign(world_->at(1).memory.size(), 'x');
  const size_t failed = world_->hub.Said<protocol::SourceFailed>();
  if (!ByGets()) world_->network.BreakLink(kFedByParts, 1);
  ASSERT_TRUE(world_->Run([&] { return world_->hub.Said<protocol::SourceFailed>() > failed; }));
  world_->hub.AssignPart(kFedByParts, 1, 2);
  ExpectWhole();
}

}  // namespace
}  // namespace tensorhub::agent::testing
