// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A source that serves only whom its hub sends to it, whatever a stranger shows.
// Covers: R9.8

#include <algorithm>

#include "tests/unit/worker_agent/core/world.h"
#include "worker_agent/core/wanted_ranges.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

constexpr Incarnation kStranger = 7777;

// One source, and a peer that the test plays.
class GuardedSource : public ::testing::Test {
 protected:
  explicit GuardedSource(const WorldOptions& options = {.guarded = true}) : world_(options) {
    EXPECT_TRUE(world_.Publish(0, 5).ok());
  }

  Incarnation source() { return Network::IncarnationOf(0); }
  CapabilityKey Key() { return CapabilityKey::Guessable(source()); }
  ReadRight Right(ReadUse use = ReadUse::kChunks) {
    return {kStranger, source(), world_.hub.PublicationOf(5), world_.at(0).word.generation, use};
  }
  // What the stranger would say if it might.
  PeerMessage Opening(PeerKind kind = PeerKind::kOpen) {
    PeerMessage open;
    open.kind = kind;
    open.from = kStranger;
    open.read = ++reads_;
    open.generation = world_.at(0).word.generation;
    open.publication = world_.hub.PublicationOf(5);
    open.chunk_bytes = 4096;
    open.flags = kFlagDigests | kFlagOneSided;
    open.text = "somewhere";
    return open;
  }
  PeerMessage Opening(const Capability& shown, ReadUse use = ReadUse::kChunks,
                      PeerKind kind = PeerKind::kOpen) {
    PeerMessage open = Opening(kind);
    Show(shown, use, open);
    return open;
  }
  // Opens a read and asks for all of it in each way that there is. What was said to the stranger.
  std::vector<PeerMessage> Try(const PeerMessage& open) {
    world_.network.strangers.clear();
    world_.Hear(0, open);
    PeerMessage more = open;
    more.flags = 0;
    more.kind = PeerKind::kRequest;
    more.chunk = world_.chunks();
    world_.Hear(0, more);
    more.kind = PeerKind::kAskWord;
    world_.Hear(0, more);
    more.kind = PeerKind::kWant;
    more.text = EncodeRanges({{0, 9000, 0, 1}});
    world_.Hear(0, more);
    world_.RunFor(2000);
    std::vector<PeerMessage> said;
    for (const SentToStranger& sent : world_.network.strangers) {
      bytes_ += sent.payload.size();
      said.push_back(DecodePeerMessage(sent.header).value());
    }
    return said;
  }
  // It heard one refusal and nothing else.
  StatusCode Refused(const PeerMessage& open) {
    bytes_ = 0;
    const std::vector<PeerMessage> said = Try(open);
    EXPECT_EQ(bytes_, 0u);
    EXPECT_EQ(said.size(), 1u);
    if (said.size() != 1 || said[0].kind != PeerKind::kRefuse) return StatusCode::kOk;
    EXPECT_EQ(said[0].generation, 0u);
    EXPECT_EQ(said[0].valid, 0u);
    EXPECT_FALSE(said[0].publication);
    refusal_ = said[0].text;
    return static_cast<StatusCode>(said[0].code);
  }
  size_t LinesAbout(const std::string& what) {
    return static_cast<size_t>(
        std::count_if(world_.at(0).log.begin(), world_.at(0).log.end(),
                      [&](const auto& line) { return line.find(what) != std::string::npos; }));
  }

  World world_;
  uint64_t reads_ = 0;
  uint64_t bytes_ = 0;
  std::string refusal_;
};

class GuardedOneSided : public GuardedSource {
 protected:
  GuardedOneSided() : GuardedSource({.one_sided = true, .guarded = true}) {}
};

TEST_F(GuardedSource, ServesWhoeverWasSent) {
  Try(Opening(Sign(Key(), Right())));
  EXPECT_EQ(bytes_, world_.Content(5).size());
  bytes_ = 0;
  Try(Opening(Sign(Key(), Right(ReadUse::kRanges)), ReadUse::kRanges, PeerKind::kOpenRanges));
  EXPECT_EQ(bytes_, 9000u);
}

TEST_F(GuardedSource, AStrangerHearsNothing) {
  EXPECT_EQ(Refused(Opening()), StatusCode::kUnauthenticated);
  EXPECT_NE(refusal_.find("--guard-reads=false"), std::string::npos) << refusal_;
  EXPECT_EQ(Refused(Opening(PeerKind::kOpenRanges)), StatusCode::kUnauthenticated);
}

TEST_F(GuardedSource, AForgedCapabilityIsNone) {
  EXPECT_EQ(Refused(Opening(Capability{1, 2})), StatusCode::kUnauthenticated);
  EXPECT_NE(refusal_.find("has not sent this reader"), std::string::npos) << refusal_;
  const CapabilityKey other = CapabilityKey::Guessable(source() + 1);
  EXPECT_EQ(Refused(Opening(Sign(other, Right()))), StatusCode::kUnauthenticated);
}

TEST_F(GuardedSource, WhatWasSignedForSomethingElseIsNone) {
  const auto refused = [&](auto&& change) {
    ReadRight right = Right();
    change(right);
    return Refused(Opening(Sign(Key(), right))) == StatusCode::kUnauthenticated;
  };
  EXPECT_TRUE(refused([](ReadRight& right) { ++right.reader; })) << "another's";
  EXPECT_TRUE(refused([](ReadRight& right) { ++right.source; })) << "for another source";
  EXPECT_TRUE(refused([](ReadRight& right) { ++right.publication.lo; })) << "another version's";
  EXPECT_TRUE(refused([](ReadRight& right) { --right.generation; })) << "stale";
  EXPECT_TRUE(refused([](ReadRight& right) { right.use = ReadUse::kRanges; }));
  EXPECT_TRUE(refused([](ReadRight& right) { right.use = ReadUse::kDigests; }));
}

// What it may have read it can say, and still reads nothing of what came after.
TEST_F(GuardedSource, ACapabilityEndsWithTheGeneration) {
  PeerMessage old = Opening(Sign(Key(), Right()));
  ASSERT_TRUE(world_.Do(0, UnpublishVerb{}).ok());
  ASSERT_TRUE(world_.Publish(0, 6).ok());
  EXPECT_EQ(Refused(old), StatusCode::kAborted) << "it is sound, for a generation that is over";
  old.read = ++reads_;
  old.generation = world_.at(0).word.generation;
  old.publication = world_.hub.PublicationOf(6);
  EXPECT_EQ(Refused(old), StatusCode::kUnauthenticated);
}

TEST_F(GuardedSource, ARightToDigestsIsNoneToBytes) {
  const Capability digests = Sign(Key(), Right(ReadUse::kDigests));
  const std::vector<PeerMessage> said = Try(Opening(digests, ReadUse::kDigests));
  EXPECT_EQ(bytes_, 0u);
  ASSERT_GE(said.size(), 2u);
  EXPECT_EQ(said.front().kind, PeerKind::kDigests);
  EXPECT_EQ(said.back().kind, PeerKind::kRefuse);
  EXPECT_EQ(said.back().code, static_cast<uint16_t>(StatusCode::kPermissionDenied));
  EXPECT_EQ(Refused(Opening(digests, ReadUse::kDigests, PeerKind::kOpenRanges)),
            StatusCode::kUnauthenticated);
}

TEST_F(GuardedOneSided, AStrangerIsNotToldOfTheMemory) {
  EXPECT_EQ(Refused(Opening()), StatusCode::kUnauthenticated);
  const Capability digests = Sign(Key(), Right(ReadUse::kDigests));
  for (const PeerMessage& said : Try(Opening(digests, ReadUse::kDigests))) {
    EXPECT_EQ(said.kind == PeerKind::kOpened ? said.flags & kFlagOneSided : 0, 0);
  }
  EXPECT_EQ(bytes_, 0u);
  const std::vector<PeerMessage> said = Try(Opening(Sign(Key(), Right())));
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const PeerMessage& message) {
    return message.kind == PeerKind::kOpened && (message.flags & kFlagOneSided) != 0;
  }));
}

TEST_F(GuardedSource, IsLoggedOncePerPeerAndNotForEver) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Refused(Opening()), StatusCode::kUnauthenticated);
  EXPECT_EQ(LinesAbout("turned away"), 1u);
  for (Incarnation name = 10'000; name < 10'200; ++name) {
    PeerMessage open = Opening();
    open.from = name;
    world_.Hear(0, open);
  }
  EXPECT_EQ(LinesAbout("turned away"), 64u);
  EXPECT_EQ(LinesAbout("no more are named"), 1u);
}

// The hub says whether it signs: a source does not wait for what never comes.
TEST_F(GuardedSource, AnOlderHubGuardsNothing) {
  world_.Deliver(0, SessionDown{});
  EXPECT_EQ(Refused(Opening()), StatusCode::kUnauthenticated) << "as the last one said";
  world_.Deliver(0, SessionUp{});
  Try(Opening());
  EXPECT_EQ(bytes_, world_.Content(5).size());
  world_.Deliver(0, PeerFailed{kStranger, absl::UnavailableError("gone")});
  world_.Deliver(0, SessionUp{.welcome = {.guards_reads = true}});
  EXPECT_EQ(Refused(Opening()), StatusCode::kUnauthenticated);
}

TEST_F(GuardedSource, AReadThatIsOpenGoesOn) {
  world_.Deliver(0, SessionUp{});
  PeerMessage request = Opening();
  world_.Hear(0, request);
  world_.Deliver(0, SessionUp{.welcome = {.guards_reads = true}});
  request.kind = PeerKind::kRequest;
  request.chunk = world_.chunks();
  request.text.clear();
  world_.Hear(0, request);
  world_.RunFor(2000);
  for (const SentToStranger& sent : world_.network.strangers) bytes_ += sent.payload.size();
  EXPECT_EQ(bytes_, world_.Content(5).size());
}

TEST(GuardedReads, AnAgentWithoutAKeyServesAsBefore) {
  World world({});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Deliver(0, SessionUp{.welcome = {.guards_reads = true}});
  EXPECT_TRUE(world.Fetch(1).ok());
}

TEST(GuardedReads, ReadersShowWhatTheyWereGiven) {
  for (const bool one_sided : {false, true}) {
    World world(
        {.workers = 4, .one_sided = one_sided, .guarded = true, .digests = DigestMode::kOn});
    ASSERT_TRUE(world.Publish(0, 5).ok());
    for (size_t reader = 1; reader < 4; ++reader) world.Ask(reader, FetchVerb{});
    for (size_t reader = 1; reader < 4; ++reader) {
      EXPECT_TRUE(world.Finish(reader).ok());
      EXPECT_TRUE(world.Holds(reader, 5));
    }
  }
}

// The same assignment, once more: nothing new has to be signed for that.
TEST(GuardedReads, AReaderConnectsAgain) {
  World world({.guarded = true});
  ASSERT_TRUE(world.Publish(0, 5).ok());
  world.Ask(1, FetchVerb{});
  ASSERT_TRUE(world.RunToValid(1, 2));
  PeerMessage hello;  // the source has made its transport anew
  hello.from = Network::IncarnationOf(0);
  hello.text = Network::EndpointOf(0);
  world.Hear(1, hello);
  EXPECT_TRUE(world.Finish(1).ok());
  EXPECT_TRUE(world.Holds(1, 5));
  EXPECT_EQ(world.hub.Said<protocol::SourceFailed>(), 0u);
}

// As with an agent that is older than the source's: it says why, and so does the fetch.
TEST(GuardedReads, AReaderThatHasNothingToShowIsToldWhy) {
  World world({.guarded = true});
  world.hub.signs = false;
  ASSERT_TRUE(world.Publish(0, 5).ok());
  const absl::Status status =
      world.Do(1, FetchVerb{.selector = {}, .timeout_ms = 2000, .waits_out_outages = false});
  EXPECT_FALSE(status.ok());
  const auto told =
      std::find_if(world.hub.said.begin(), world.hub.said.end(), [](const auto& entry) {
        return std::holds_alternative<protocol::SourceFailed>(entry.second);
      });
  ASSERT_NE(told, world.hub.said.end());
  EXPECT_TRUE(absl::IsUnauthenticated(std::get<protocol::SourceFailed>(told->second).reason));
}

}  // namespace
}  // namespace tensorhub::agent::testing
