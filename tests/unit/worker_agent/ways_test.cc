// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Several ways to one peer, each a transport that does what the test says.

#include "worker_agent/ways/ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "common/remedy.h"
#include "worker_agent/ucx/ucx_envelope.h"

namespace tensorhub::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What it is told to say, it says at the next Progress.
class FakeWay : public MessageTransport {
 public:
  FakeWay(std::string name, Sink* sink) : name_(std::move(name)), sink_(sink) {}
  ~FakeWay() override { close(fd_); }
  std::string Address() const override { return "at " + name_; }
  size_t MaxPayloadBytes() const override { return 100; }
  size_t WholePayloadBytes(PeerId /*peer*/) const override { return 10; }
  absl::StatusOr<PeerId> Connect(std::string_view address) override {
    EXPECT_EQ(address, Address());
    if (!refuses.ok()) return refuses;
    return ++peer;
  }
  void Send(PeerId to, std::string_view header, std::span<const ConstPiece> /*pieces*/,
            uint64_t token) override {
    EXPECT_EQ(to, peer);
    sent.emplace_back(header);
    tokens.push_back(token);
  }
  void Close(PeerId /*peer*/) override {
    ++closed;
    for (const uint64_t token : std::exchange(tokens, {})) {
      said_.push_back([this, token] { sink_->OnSent(token, absl::CancelledError("closed")); });
    }
  }
  void SelfTestReceive() override {}
  void Abandon() override {}
  std::string Describe(PeerId /*peer*/) const override { return name_; }
  std::string Summary() const override { return name_; }
  bool Progress() override {
    if (holds_back && closed > 0) return false;
    const auto said = std::exchange(said_, {});
    for (const auto& say : said) say();
    return !said.empty();
  }
  int EventFd() const override { return fd_; }
  bool Arm() override { return said_.empty(); }

  void Deliver() {
    for (const uint64_t token : std::exchange(tokens, {})) {
      said_.push_back([this, token] { sink_->OnSent(token, absl::OkStatus()); });
    }
  }
  void Fail() {
    said_.push_back([this] { sink_->OnPeerFailed(peer, absl::UnavailableError("reset")); });
  }

  absl::Status refuses;
  bool holds_back = false;  // what it has to say once it is closed
  PeerId peer = 0;
  int closed = 0;
  std::vector<std::string> sent;
  std::vector<uint64_t> tokens;

 private:
  const std::string name_;
  Sink* const sink_;
  const int fd_ = eventfd(0, 0);
  std::vector<std::function<void()>> said_;
};

class WaysTest : public testing::Test, public MessageTransport::Sink {
 protected:
  static WayOffer Offer(int i) {
    if (i == 0) return {};
    return {WayOffer::Kind::kNetwork, "", {"eth" + std::to_string(i), {10, 0, char(i), 1}, 24}};
  }

  WaysTest() {
    Ways::Host host{"boot",
                    "net",
                    {},
                    [this](std::string_view to) {
                      return to == routed_ ? std::optional(std::string("from")) : std::nullopt;
                    },
                    [this] { return now_; }};
    for (int i = 0; i < 3; ++i) {
      host.candidates.push_back({Offer(i),
                                 [this, i](MessageTransport::Sink* sink)
                                     -> absl::StatusOr<std::unique_ptr<MessageTransport>> {
                                   auto way = std::make_unique<FakeWay>(std::to_string(i), sink);
                                   made_.push_back(way.get());
                                   return way;
                                 }});
    }
    ways_ = *Ways::Create(this, host);
  }

  FakeWay& way(size_t i) { return *made_[i]; }
  PeerId Connect() { return ways_->Connect(ways_->Address()).value(); }
  void Turn(int64_t ms = 0) {
    now_ += ms;
    while (ways_->Progress()) {
    }
  }

  void OnMessage(std::string_view header, std::string_view /*payload*/) override {
    heard_.emplace_back(header);
  }
  void OnSent(uint64_t token, const absl::Status& status) override {
    sent_.push_back(std::to_string(token) + (status.ok() ? " ok" : " failed"));
  }
  void OnPeerFailed(PeerId peer, const absl::Status& status) override {
    failed_.push_back(std::to_string(peer) + " " + std::string(status.message()) +
                      (IsOutage(status) ? " (outage)" : ""));
  }
  void OnDeaf(std::string_view /*why*/) override {}

  int64_t now_ = 0;
  std::string routed_;  // to this address there is a route
  std::vector<FakeWay*> made_;
  std::unique_ptr<Ways> ways_;
  std::vector<std::string> heard_, sent_, failed_;
};

TEST_F(WaysTest, TheFirstThatDeliversStays) {
  const PeerId peer = Connect();
  ways_->Send(peer, "hello", {}, 0);
  ways_->Send(peer, "frame", {}, 7);
  way(0).Deliver();
  Turn();
  EXPECT_THAT(sent_, ElementsAre("7 ok"));
  Turn(10 * Ways::kSilentMs);
  ways_->Send(peer, "more", {}, 8);
  EXPECT_THAT(way(0).sent, ElementsAre("hello", "frame", "more"));
  EXPECT_THAT(way(0).tokens, ElementsAre(8)) << "as it is, from then on";
  EXPECT_EQ(ways_->Describe(peer), "0");
  EXPECT_THAT(way(1).sent, IsEmpty());
}

TEST_F(WaysTest, WhatIsRefusedAtOnceCostsNothing) {
  way(0).refuses = absl::UnavailableError("permission denied");
  const PeerId peer = Connect();
  EXPECT_EQ(ways_->Describe(peer), "1");
}

TEST_F(WaysTest, WhatIsRefusedLaterIsSentAgainInOrder) {
  const PeerId peer = Connect();
  ways_->Send(peer, "hello", {}, 0);
  ways_->Send(peer, "frame", {}, 7);
  way(0).Fail();
  Turn();
  EXPECT_EQ(way(0).closed, 1);
  EXPECT_THAT(way(1).sent, ElementsAre("hello", "frame"));
  EXPECT_THAT(sent_, IsEmpty()) << "its memory is still read";
  way(1).Deliver();
  Turn();
  EXPECT_THAT(sent_, ElementsAre("7 ok"));
  EXPECT_THAT(failed_, IsEmpty());
}

// What the closed way says of it comes last.
TEST_F(WaysTest, WhatWasDeliveredIsNotUndoneByTheWayBefore) {
  const PeerId peer = Connect();
  ways_->Send(peer, "frame", {}, 7);
  way(0).holds_back = true;
  way(0).Fail();
  Turn();
  way(1).Deliver();
  Turn();
  EXPECT_THAT(sent_, IsEmpty()) << "the way before still reads its memory";
  way(0).holds_back = false;
  Turn();
  EXPECT_THAT(sent_, ElementsAre("7 ok"));
}

TEST_F(WaysTest, SilenceLeadsOnAndWakesWhoeverWaits) {
  const PeerId peer = Connect();
  ways_->Send(peer, "hello", {}, 0);
  EXPECT_TRUE(ways_->Arm());
  pollfd events{ways_->EventFd(), POLLIN, 0};
  EXPECT_EQ(poll(&events, 1, 10'000), 1) << "the alarm";
  Turn(Ways::kMemorySilentMs - 1);
  EXPECT_THAT(way(1).sent, IsEmpty());
  Turn(1);
  EXPECT_THAT(way(1).sent, ElementsAre("hello"));
  Turn(Ways::kSilentMs);
  EXPECT_THAT(way(2).sent, ElementsAre("hello"));
}

TEST_F(WaysTest, AfterAllAreSilentTheBestIsWaitedFor) {
  const PeerId peer = Connect();
  ways_->Send(peer, "hello", {}, 7);
  way(1).refuses = absl::UnavailableError("unreachable");
  Turn(Ways::kMemorySilentMs);
  Turn(Ways::kSilentMs);
  EXPECT_EQ(ways_->Describe(peer), "0");
  Turn(100 * Ways::kSilentMs);
  EXPECT_THAT(failed_, IsEmpty());
  way(0).Deliver();
  Turn();
  EXPECT_THAT(sent_, ElementsAre("7 ok"));
}

TEST_F(WaysTest, WhenNoneIsLeftThePeerHasFailed) {
  const PeerId peer = Connect();
  ways_->Send(peer, "frame", {}, 7);
  for (size_t i = 0; i < 3; ++i) {
    way(i).Fail();
    Turn();
  }
  EXPECT_THAT(failed_,
              ElementsAre(testing::AllOf(HasSubstr("over eth2 10.0.2.1"), HasSubstr("reset"))));
  EXPECT_THAT(sent_, ElementsAre("7 failed"));
  ways_->Send(peer, "frame", {}, 8);
  Turn();
  EXPECT_THAT(sent_, ElementsAre("7 failed", "8 failed"));
  ways_->Close(peer);
}

// R8: from a host that has lost its network, say. A peer on this host, or one that is in one
// network only of several, is not to be reached for another reason.
TEST_F(WaysTest, WithoutARouteItIsAnOutage) {
  WayOffers theirs{"another boot", "another net", {Offer(1), Offer(2)}};
  for (size_t i = 0; i < 2; ++i) {
    theirs.ways[i].network.address.back() = 2;
    theirs.ways[i].transport = way(i + 1).Address();
    way(i + 1).refuses = absl::UnavailableError("unreachable");
  }
  const std::string address = WrapEnvelope(EnvelopeKind::kWays, Encode(theirs));
  EXPECT_TRUE(IsOutage(ways_->Connect(address).status()));
  routed_ = theirs.ways[0].network.address;
  const absl::Status refused = ways_->Connect(address).status();
  EXPECT_TRUE(absl::IsUnavailable(refused));
  EXPECT_FALSE(IsOutage(refused));
  way(0).refuses = absl::UnavailableError("nobody listens");
  EXPECT_FALSE(IsOutage(ways_->Connect(ways_->Address()).status()));
}

TEST_F(WaysTest, OnceProvenAFailureIsThePeers) {
  const PeerId peer = Connect();
  ways_->Send(peer, "hello", {}, 0);
  way(0).Deliver();
  Turn();
  way(0).Fail();
  Turn();
  EXPECT_THAT(failed_, ElementsAre(HasSubstr("reset")));
  EXPECT_THAT(way(1).sent, IsEmpty());
}

TEST_F(WaysTest, TheNextConnectionBeginsWithWhatWorked) {
  PeerId peer = Connect();
  ways_->Send(peer, "hello", {}, 0);
  way(0).Fail();
  Turn();
  way(1).Deliver();
  Turn();
  ways_->Close(peer);
  peer = Connect();
  EXPECT_EQ(ways_->Describe(peer), "1");
  ways_->Close(peer);
  Turn(3'600'000);
  EXPECT_EQ(ways_->Describe(Connect()), "0") << "it may be another day";
}

TEST_F(WaysTest, ClosedWhileTrying) {
  const PeerId peer = Connect();
  ways_->Send(peer, "frame", {}, 7);
  ways_->Close(peer);
  EXPECT_THAT(sent_, IsEmpty());
  Turn();
  EXPECT_THAT(sent_, ElementsAre("7 failed"));
  Turn(10 * Ways::kSilentMs);
  EXPECT_THAT(way(1).sent, IsEmpty());
}

TEST_F(WaysTest, DamagedAddressesAreRefused) {
  EXPECT_EQ(ways_->Connect("no envelope").status().code(), absl::StatusCode::kInvalidArgument);
  const std::string strange = WrapEnvelope(EnvelopeKind::kWays, "nothing of ours");
  EXPECT_EQ(ways_->Connect(strange).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(NoWaysTest, WhatCannotBeMadeIsLeftOut) {
  const auto refuse =
      [](MessageTransport::Sink*) -> absl::StatusOr<std::unique_ptr<MessageTransport>> {
    return absl::FailedPreconditionError("no memory");
  };
  const Ways::Host host{"boot",
                        "net",
                        {{WayOffer{}, refuse}},
                        [](std::string_view) { return std::nullopt; },
                        [] { return 0; }};
  const auto ways = Ways::Create(nullptr, host);
  EXPECT_THAT(std::string(ways.status().message()), HasSubstr("no memory"));
}

// Ports that the user gives and that are taken: the worker would be out of other hosts' reach.
TEST(NoWaysTest, MemoryAloneIsNotEnoughWhereTheNetworksHaveNoRoom) {
  Ways::Host host{"boot", "net", {}, {}, {}};
  const auto memory =
      [](MessageTransport::Sink* sink) -> absl::StatusOr<std::unique_ptr<MessageTransport>> {
    return std::make_unique<FakeWay>("memory", sink);
  };
  const auto fails = [](const absl::Status& why) {
    return [why](MessageTransport::Sink*) -> absl::StatusOr<std::unique_ptr<MessageTransport>> {
      return why;
    };
  };
  const WayOffer network{WayOffer::Kind::kNetwork, "", {"eth0", {10, 0, 0, 1}, 24}};
  host.candidates = {{WayOffer{}, memory}, {network, fails(absl::ResourceExhaustedError("ports"))}};
  EXPECT_EQ(Ways::Create(nullptr, host).status(), absl::ResourceExhaustedError("ports"));
  host.candidates.back().make = fails(absl::UnavailableError("refused"));
  EXPECT_TRUE(Ways::Create(nullptr, host).ok());
}

}  // namespace
}  // namespace tensorhub::agent
