// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Peers that do not keep to the protocol (R9): a source gives away nothing that it should not, a
// reader accepts nothing that it did not ask for, and neither crashes or grows without bound.
// Covers: R9.2, R4.7

#include <algorithm>

#include "common/limits.h"
#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

constexpr Incarnation kHostile = 7777;

class HostileReader : public ::testing::Test {
 protected:
  HostileReader() { EXPECT_TRUE(world_.Publish(0, 5).ok()); }

  PeerMessage Message(PeerKind kind, uint64_t read = 1) {
    PeerMessage message;
    message.kind = kind;
    message.from = kHostile;
    message.read = read;
    message.generation = world_.at(0).word.generation;
    message.publication = world_.hub.PublicationOf(5);
    message.chunk_bytes = 4096;
    return message;
  }
  void SayHello() {
    PeerMessage hello = Message(PeerKind::kHello);
    hello.text = "somewhere";
    world_.Hear(0, hello);
  }
  // The status code of the refusal; OK if there was none.
  StatusCode Refusal() {
    for (const PeerMessage& message : world_.Heard(kHostile)) {
      if (message.kind == PeerKind::kRefuse) return static_cast<StatusCode>(message.code);
    }
    return StatusCode::kOk;
  }
  uint64_t BytesHeard() {
    uint64_t bytes = 0;
    for (const SentToStranger& sent : world_.network.strangers) bytes += sent.payload.size();
    return bytes;
  }

  World world_{{}};
};

TEST_F(HostileReader, OpensWithWhatTheSourceDoesNotHold) {
  SayHello();
  PeerMessage open = Message(PeerKind::kOpen);
  ++open.generation;
  world_.Hear(0, open);
  EXPECT_EQ(Refusal(), StatusCode::kAborted);
  open = Message(PeerKind::kOpen);
  open.publication = {1, 2};
  world_.Hear(0, open);
  EXPECT_EQ(Refusal(), StatusCode::kAborted);
  for (const uint64_t chunk_bytes : {uint64_t{0}, uint64_t{1}, uint64_t{8192}, ~uint64_t{0}}) {
    open = Message(PeerKind::kOpen);
    open.chunk_bytes = chunk_bytes;
    world_.Hear(0, open);
    EXPECT_EQ(Refusal(), StatusCode::kInvalidArgument) << chunk_bytes;
  }
  open = Message(PeerKind::kOpen);
  open.chunk = world_.chunks() + 1;
  world_.Hear(0, open);
  EXPECT_EQ(Refusal(), StatusCode::kInvalidArgument);
  world_.Hear(0, Message(PeerKind::kRequest));
  world_.RunFor(1000);
  EXPECT_EQ(BytesHeard(), 0u);
}

TEST_F(HostileReader, OpensWithoutAHello) {
  world_.Hear(0, Message(PeerKind::kOpen));
  PeerMessage request = Message(PeerKind::kRequest);
  request.chunk = kChunkCountMax;
  world_.Hear(0, request);
  world_.RunFor(1000);
  EXPECT_TRUE(world_.network.strangers.empty());
}

TEST_F(HostileReader, OpensWithoutAHelloAndSaysWhereItIs) {
  PeerMessage open = Message(PeerKind::kOpen);
  open.text = "somewhere";
  world_.Hear(0, open);
  PeerMessage request = Message(PeerKind::kRequest);
  request.chunk = world_.chunks();
  world_.Hear(0, request);
  world_.RunFor(1000);
  EXPECT_EQ(BytesHeard(), world_.Content(5).size());
}

TEST_F(HostileReader, RequestsBeyondTheCountGetTheShardOnce) {
  SayHello();
  world_.Hear(0, Message(PeerKind::kOpen));
  PeerMessage request = Message(PeerKind::kRequest);
  for (const uint32_t chunk : {world_.chunks(), kChunkCountMax, 1u, kChunkCountMax}) {
    request.chunk = chunk;
    world_.Hear(0, request);
    world_.RunFor(100);
  }
  EXPECT_EQ(BytesHeard(), world_.Content(5).size());
}

// The frame is what the reader asks for, as far as that makes sense.
TEST_F(HostileReader, AsksForFramesOfAnySize) {
  for (const uint64_t asked : {uint64_t{0}, uint64_t{1}, uint64_t{700}, ~uint64_t{0}}) {
    World world({});
    ASSERT_TRUE(world.Publish(0, 5).ok());
    PeerMessage hello = Message(PeerKind::kHello);
    hello.text = "somewhere";
    world.Hear(0, hello);
    world.Hear(0, Message(PeerKind::kOpen));
    PeerMessage request = Message(PeerKind::kRequest);
    request.chunk = world.chunks();
    request.begin = asked;
    world.Hear(0, request);
    world.RunFor(1000);
    size_t longest = 0, bytes = 0;
    for (const SentToStranger& sent : world.network.strangers) {
      longest = std::max(longest, sent.payload.size());
      bytes += sent.payload.size();
    }
    const size_t whole = world.at(0).options.frame_bytes;
    EXPECT_EQ(longest, asked == 700 ? 700 : asked == 1 ? whole / 8 : whole) << asked;
    EXPECT_EQ(bytes, world.Content(5).size());
  }
}

TEST_F(HostileReader, RequestsBeyondTheCountAtFirstAreRefused) {
  SayHello();
  world_.Hear(0, Message(PeerKind::kOpen));
  PeerMessage request = Message(PeerKind::kRequest);
  request.chunk = world_.chunks() + 1;
  world_.Hear(0, request);
  EXPECT_EQ(BytesHeard(), 0u);
  EXPECT_EQ(Refusal(), StatusCode::kInvalidArgument);
}

TEST_F(HostileReader, OpensAtTheEndAndGetsNothing) {
  SayHello();
  PeerMessage open = Message(PeerKind::kOpen);
  open.chunk = world_.chunks();
  world_.Hear(0, open);
  PeerMessage request = Message(PeerKind::kRequest);
  request.chunk = world_.chunks();
  world_.Hear(0, request);
  world_.RunFor(100);
  EXPECT_EQ(Refusal(), StatusCode::kOk);
  EXPECT_EQ(BytesHeard(), 0u);
}

// What the transport holds for one reader is bounded, also if it opens the same read for ever.
TEST_F(HostileReader, OpensTheSameReadAgainAndAgain) {
  SayHello();
  PeerMessage request = Message(PeerKind::kRequest);
  request.chunk = world_.chunks();
  for (int repeat = 0; repeat < 10; ++repeat) {
    world_.Hear(0, Message(PeerKind::kOpen));
    world_.Hear(0, request);
  }
  EXPECT_LE(BytesHeard(), 5 * (4096u + 1500u));
  EXPECT_EQ(Refusal(), StatusCode::kInvalidArgument);
}

TEST_F(HostileReader, OpensTooManyReads) {
  SayHello();
  for (uint64_t read = 1; read <= 2000; ++read) world_.Hear(0, Message(PeerKind::kOpen, read));
  EXPECT_EQ(Refusal(), StatusCode::kResourceExhausted);
  world_.Deliver(0, PeerFailed{kHostile, absl::UnavailableError("gone")});
  SayHello();
  world_.Hear(0, Message(PeerKind::kOpen, 1));
  EXPECT_EQ(Refusal(), StatusCode::kOk) << "its reads went with its connection";
}

TEST_F(HostileReader, SaysHelloUnderTooManyNames) {
  for (Incarnation name = 10'000; name < 20'000; ++name) {
    PeerMessage hello = Message(PeerKind::kHello);
    hello.from = name;
    world_.Hear(0, hello);
  }
  const auto turned_away = std::count_if(
      world_.at(0).log.begin(), world_.at(0).log.end(),
      [](const std::string& line) { return line.find("too many peers") != std::string::npos; });
  EXPECT_GT(turned_away, 5000);
}

TEST_F(HostileReader, ClaimsToHaveDigestsAlready) {
  SayHello();
  uint64_t read = 0;
  for (const uint64_t had : {uint64_t{0}, uint64_t{3}, uint64_t{1000}, ~uint64_t{0}}) {
    PeerMessage open = Message(PeerKind::kOpen, ++read);
    open.flags = kFlagDigests;
    open.begin = had;
    world_.Hear(0, open);
    const auto heard = world_.Heard(kHostile);
    ASSERT_EQ(heard.size(), 1u) << had;
    EXPECT_EQ(heard[0].kind, PeerKind::kDigests);
    EXPECT_EQ(heard[0].flags, kFlagNoMoreDigests) << "this publisher makes none";
    EXPECT_TRUE(heard[0].text.empty());
  }
}

TEST_F(HostileReader, ClosesAndRequestsInAnyOrder) {
  SayHello();
  world_.Hear(0, Message(PeerKind::kClose));
  world_.Hear(0, Message(PeerKind::kRequest));
  world_.Hear(0, Message(PeerKind::kOpen));
  PeerMessage request = Message(PeerKind::kRequest);
  request.chunk = world_.chunks();
  world_.Hear(0, request);
  world_.Hear(0, Message(PeerKind::kClose));
  const uint64_t sent = BytesHeard();
  world_.RunFor(1000);
  EXPECT_EQ(BytesHeard(), sent) << "nothing is sent for a closed read";
  EXPECT_EQ(world_.Do(0, UnpublishVerb{}), absl::OkStatus());
}

// R3, R4: nothing is issued after the generation was raised, and each reader is told.
TEST_F(HostileReader, StaysOnAfterAnUnpublish) {
  SayHello();
  world_.Hear(0, Message(PeerKind::kOpen));
  PeerMessage request = Message(PeerKind::kRequest);
  request.chunk = 3;
  world_.Hear(0, request);
  EXPECT_EQ(world_.Do(0, UnpublishVerb{}), absl::OkStatus());
  EXPECT_EQ(Refusal(), StatusCode::kAborted);
  request.chunk = world_.chunks();
  world_.Hear(0, request);
  world_.Hear(0, Message(PeerKind::kOpen, 2));
  world_.RunFor(1000);
  EXPECT_EQ(BytesHeard(), 0u);
}

// Plays the source of a read.
class HostileSource : public ::testing::Test {
 protected:
  HostileSource() {
    world_.hub.script = [this](size_t worker, const Call& call) {
      if (std::holds_alternative<protocol::JoinFetch>(call.request)) {
        world_.hub.Reply(worker, call.op, absl::OkStatus(),
                         FetchDecision{{1, 1}, {2, 2}, 5, 1, 4096});
      } else if (std::holds_alternative<protocol::BeginRead>(call.request)) {
        world_.hub.Reply(worker, call.op, absl::OkStatus());
      } else {
        world_.hub.Reply(worker, call.op, std::get<protocol::FinishRead>(call.request).result);
      }
      return true;
    };
    world_.Ask(0, FetchVerb{});
    world_.RunFor(20);
    Assign();
  }
  void Assign() {
    protocol::Assign assign;
    assign.transaction = {1, 1};
    assign.assignment = ++assignment_;
    assign.source.key = {"m", "x", 0};
    assign.source.incarnation = kHostile;
    assign.generation = 42;
    assign.publication = {2, 2};
    assign.tier = tier_;
    world_.Deliver(0, assign);
    for (const PeerMessage& message : world_.Heard(kHostile)) {
      if (message.kind == PeerKind::kOpen) read_ = message.read;
    }
  }
  PeerMessage Message(PeerKind kind) const {
    PeerMessage message;
    message.kind = kind;
    message.from = kHostile;
    message.read = read_;
    message.generation = 42;
    return message;
  }
  size_t Failures() const {
    return static_cast<size_t>(
        std::count_if(world_.hub.said.begin(), world_.hub.said.end(), [](const auto& entry) {
          return std::holds_alternative<protocol::SourceFailed>(entry.second);
        }));
  }
  // Whether this data message ends the read, without a byte being taken.
  bool Refuses(uint64_t begin, size_t bytes) {
    const size_t before = Failures();
    const uint64_t written = world_.at(0).written_bytes;
    PeerMessage data = Message(PeerKind::kData);
    data.begin = begin;
    world_.Hear(0, data, std::string(bytes, 'x'));
    const bool refused = Failures() == before + 1 && world_.at(0).written_bytes == written;
    Assign();
    return refused;
  }

  World world_{{.workers = 1, .digests = DigestMode::kOn}};
  Tier tier_ = Tier::kRemote;
  AssignmentNumber assignment_ = 0;
  uint64_t read_ = 0;
};

TEST_F(HostileSource, SendsWhatWasNotAskedFor) {
  EXPECT_TRUE(Refuses(1, 100)) << "not the next byte";
  EXPECT_TRUE(Refuses(4096, 100)) << "a later chunk";
  EXPECT_TRUE(Refuses(~uint64_t{0}, 100));
  EXPECT_TRUE(Refuses(0, 3 * 4096 + 1)) << "beyond the credit";
  EXPECT_TRUE(Refuses(0, 1 << 20)) << "beyond the shard";
  EXPECT_FALSE(Refuses(0, 4096)) << "this is what was asked for";
}

// R4: what was not confirmed, or not received, is not committed.
TEST_F(HostileSource, ConfirmsMoreThanItSent) {
  PeerMessage data = Message(PeerKind::kData);
  data.valid = data.confirmed = kChunkCountMax;
  const std::string& content = world_.Content(5);
  world_.Hear(0, data, std::string_view(content).substr(0, 1000));
  EXPECT_EQ(world_.at(0).word.valid_chunks, 0u);
  PeerMessage confirm = Message(PeerKind::kConfirm);
  confirm.confirmed = kChunkCountMax;
  world_.Hear(0, confirm);
  EXPECT_EQ(world_.at(0).word.valid_chunks, 0u);
  data.begin = 1000;
  world_.Hear(0, data, std::string_view(content).substr(1000, 4096));
  EXPECT_EQ(world_.at(0).word.valid_chunks, 1u);
}

// R4: a frame of a read that was left would be copied over what its successor brought.
TEST_F(HostileSource, SendsLateFramesOfAnEarlierRead) {
  const uint64_t earlier = read_;
  Assign();
  ASSERT_NE(read_, earlier);
  for (const PeerKind kind :
       {PeerKind::kOpened, PeerKind::kData, PeerKind::kConfirm, PeerKind::kRefuse}) {
    PeerMessage late = Message(kind);
    late.read = earlier;
    late.valid = late.confirmed = world_.chunks();
    world_.Hear(0, late, std::string(4096, 'x'));
  }
  EXPECT_EQ(world_.at(0).written_bytes, 0u);
  EXPECT_EQ(world_.at(0).word.valid_chunks, 0u);
  EXPECT_EQ(Failures(), 0u);
}

// Who was reached by two ways, one after the other, hears what it is asked twice.
TEST_F(HostileSource, AnswersTwice) {
  PeerMessage data = Message(PeerKind::kData);
  const std::string& content = world_.Content(5);
  world_.Hear(0, data, std::string_view(content).substr(0, 1000));
  world_.Hear(0, data, std::string(1000, 'x'));
  data.begin = 500;
  world_.Hear(0, data, std::string(500, 'x') + content.substr(1000, 4096));
  EXPECT_EQ(world_.at(0).written_bytes, 1000u + 4096u);
  EXPECT_EQ(world_.at(0).memory.substr(0, 5096), content.substr(0, 5096));
  EXPECT_EQ(Failures(), 0u);
}

TEST_F(HostileSource, NeverConfirms) {
  PeerMessage data = Message(PeerKind::kData);
  world_.Hear(0, data, std::string(3 * 4096, 'x'));
  EXPECT_EQ(world_.at(0).word.valid_chunks, 0u);
  EXPECT_EQ(Failures(), 0u);
}

TEST_F(HostileSource, AnswersWithAnotherGeneration) {
  for (const PeerKind kind : {PeerKind::kOpened, PeerKind::kData, PeerKind::kConfirm}) {
    const size_t before = Failures();
    PeerMessage message = Message(kind);
    message.generation = 43;
    world_.Hear(0, message, "");
    EXPECT_EQ(Failures(), before + 1);
    Assign();
  }
}

TEST_F(HostileSource, OffersMemoryThatWasNotAskedFor) {
  PeerMessage opened = Message(PeerKind::kOpened);
  opened.flags = kFlagOneSided;
  world_.Hear(0, opened, "description");
  world_.RunFor(10);
  EXPECT_FALSE(world_.network.HasGets(0));
}

TEST_F(HostileSource, OffersMemoryThatCannotBeMapped) {
  tier_ = Tier::kHost;
  Assign();
  PeerMessage opened = Message(PeerKind::kOpened);
  opened.flags = kFlagOneSided;
  world_.Hear(0, opened, "nonsense");
  world_.RunFor(10);
  const auto messages = world_.Heard(kHostile);
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages.back().kind, PeerKind::kRequest) << "it asks to be served instead";
}

TEST_F(HostileSource, SendsDigestsThatDoNotFit) {
  const auto refused = [&](uint32_t first, size_t bytes) {
    const size_t before = Failures();
    PeerMessage digests = Message(PeerKind::kDigests);
    digests.chunk = first;
    digests.text.assign(bytes, 'd');
    world_.Hear(0, digests);
    const bool failed = Failures() == before + 1;
    Assign();
    return failed;
  };
  EXPECT_TRUE(refused(1, 8)) << "not the first";
  EXPECT_TRUE(refused(kChunkCountMax, 8));
  EXPECT_TRUE(refused(0, 7)) << "no whole digest";
  EXPECT_TRUE(refused(0, 8 * (world_.chunks() + 1))) << "more than there are chunks";
  EXPECT_TRUE(refused(0, 8 * 129)) << "more than a message carries";
  EXPECT_FALSE(refused(0, 8 * world_.chunks()));
}

// Each chunk is held against them, also what comes before they do.
TEST_F(HostileSource, SendsWrongDigests) {
  for (const bool first : {true, false}) {
    PeerMessage digests = Message(PeerKind::kDigests);
    digests.text.assign(8, 'd');
    PeerMessage data = Message(PeerKind::kData);
    data.confirmed = 1;
    const size_t before = Failures();
    if (!first) {
      PeerMessage none = digests;
      none.text.clear();
      world_.Hear(0, none);
    } else {
      world_.Hear(0, digests);
    }
    world_.Hear(0, data, std::string_view(world_.Content(5)).substr(0, 4096));
    world_.RunFor(100);
    if (!first) world_.Hear(0, digests);
    EXPECT_EQ(Failures(), before + 1);
    EXPECT_EQ(world_.at(0).word.valid_chunks, 0u);
    EXPECT_TRUE(
        absl::IsDataLoss(std::get<protocol::SourceFailed>(world_.hub.said.back().second).reason));
    Assign();
  }
}

TEST_F(HostileSource, RefusesWithoutAReason) {
  world_.Hear(0, Message(PeerKind::kRefuse));
  ASSERT_EQ(Failures(), 1u);
  EXPECT_FALSE(std::get<protocol::SourceFailed>(world_.hub.said.back().second).reason.ok());
}

// The hub's messages take UTF-8 only: one that it cannot read ends the session, and is said again.
TEST_F(HostileSource, RefusesWithWhatIsNoText) {
  PeerMessage message = Message(PeerKind::kRefuse);
  message.text = "n\xff" + std::string(3000, 'o');
  world_.Hear(0, message);
  ASSERT_EQ(Failures(), 1u);
  const auto& failed = std::get<protocol::SourceFailed>(world_.hub.said.back().second);
  EXPECT_EQ(failed.reason.message(), "n?" + std::string(kReasonBytesMax - 2, 'o'));
}

// Anything at all, in any order: no crash, and the fetch still ends.
TEST_F(HostileSource, SaysRandomThings) {
  Random random(5);
  for (int round = 0; round < 20'000; ++round) {
    PeerMessage message = Message(static_cast<PeerKind>(1 + random.Below(9)));
    if (message.kind == PeerKind::kHello) message.text = "elsewhere";
    if (message.kind == PeerKind::kDigests) message.text.assign(random.Below(40), 'd');
    message.flags = static_cast<uint8_t>(random.Below(16));
    message.code = static_cast<uint16_t>(random.Below(17));
    message.chunk = static_cast<uint32_t>(random.Below(20));
    message.valid = static_cast<uint32_t>(random.Below(20));
    message.begin = random.Below(10) * 1024;
    if (random.Below(10) == 0) message.generation = random.Below(50);
    if (random.Below(10) == 0) message.read = random.Below(5);
    message.publication = {2, random.Below(3)};
    message.chunk_bytes = 4096;
    world_.Hear(0, message, std::string(random.Below(6) * 1024, 'x'));
    if (random.Below(20) == 0) world_.RunFor(TimeMs(random.Below(20)));
    if (random.Below(4) == 0) Assign();
  }
  world_.Deliver(0, protocol::AbortRead{{1, 1}, absl::AbortedError("enough")});
  EXPECT_EQ(world_.Finish(0).code(), StatusCode::kAborted);
}

}  // namespace
}  // namespace tensorhub::agent::testing
