// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ways/way_offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorhub::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Ip(int a, int b, int c, int d) {
  return {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c), static_cast<char>(d)};
}

WayOffer MemoryOffer() { return {WayOffer::Kind::kMemory, "memory", {}}; }

WayOffer Over(const std::string& device, const std::string& address) {
  return {WayOffer::Kind::kNetwork, "at " + device, {device, address, 24}};
}

WayOffer LoopbackOffer() {
  WayOffer offer = Over("lo", Ip(127, 0, 0, 1));
  offer.network.loopback = true;
  return offer;
}

// "mine>theirs", by device.
std::vector<std::string> Order(const WayOffers& mine, const WayOffers& theirs,
                               std::optional<std::string> source = std::nullopt) {
  std::vector<std::string> names;
  const auto name = [](const WayOffer& way) {
    return way.kind == WayOffer::Kind::kMemory ? std::string("memory") : way.network.device;
  };
  for (const WayPair& pair : OrderWays(mine, theirs, [&](std::string_view) { return source; })) {
    names.push_back(name(mine.ways[pair.mine]) + ">" + name(theirs.ways[pair.theirs]));
  }
  return names;
}

const WayOffers kHere = {
    "boot", "net", {MemoryOffer(), Over("eth0", Ip(10, 0, 0, 1)), Over("eth1", Ip(10, 0, 1, 1))}};

TEST(WayOffersTest, OnOneHostMemoryComesFirst) {
  EXPECT_THAT(Order(kHere, kHere), ElementsAre("memory>memory", "eth0>eth0", "eth1>eth1"));
}

TEST(WayOffersTest, AnotherHostSharesNone) {
  const WayOffers there = {"other", "net", {MemoryOffer(), Over("a", Ip(10, 0, 1, 7))}};
  EXPECT_THAT(Order(kHere, there), ElementsAre("eth1>a"));
  const WayOffers container = {"boot", "another", there.ways};
  EXPECT_THAT(Order(kHere, container), ElementsAre("eth1>a"));
}

TEST(WayOffersTest, OneSubnetThenARouteThenTheRest) {
  const WayOffers there = {
      "other", "net", {Over("far", Ip(192, 168, 0, 1)), Over("near", Ip(10, 0, 1, 7))}};
  EXPECT_THAT(Order(kHere, there), ElementsAre("eth1>near", "eth0>far"));
  EXPECT_THAT(Order(kHere, there, Ip(10, 0, 1, 1)), ElementsAre("eth1>near", "eth1>far"));
  EXPECT_THAT(Order(kHere, there, Ip(172, 17, 0, 1)), ElementsAre("eth1>near", "eth0>far"))
      << "by a device that is not used";
}

TEST(WayOffersTest, NobodyIsLedToItself) {
  const WayOffers there = {
      "other",
      "net",
      {Over("docker0", Ip(10, 0, 0, 1)), LoopbackOffer(), Over("a", Ip(10, 0, 1, 7))}};
  EXPECT_THAT(Order(kHere, there), ElementsAre("eth1>a"));
  const WayOffers container = {"boot", "another", there.ways};
  EXPECT_THAT(Order(kHere, container), ElementsAre("eth1>a"));
}

TEST(WayOffersTest, ByTheLoopbackWithinOneNetworkSpace) {
  const WayOffers one = {"boot", "net", {LoopbackOffer()}};
  EXPECT_THAT(Order(one, one), ElementsAre("lo>lo"));
  EXPECT_THAT(Order(one, {"boot", "another", {LoopbackOffer()}}), IsEmpty());
}

TEST(WayOffersTest, ComeBackAsTheyWere) {
  WayOffers offers = kHere;
  offers.ways.push_back(LoopbackOffer());
  offers.ways.push_back(Over("ib0", std::string(16, '\xfd')));
  const auto decoded = DecodeWayOffers(Encode(offers));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, offers);
}

TEST(WayOffersTest, WhatIsDamagedIsRefused) {
  const std::string good = Encode(kHere);
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_FALSE(DecodeWayOffers(good.substr(0, bytes)).ok()) << bytes;
  }
  EXPECT_FALSE(DecodeWayOffers(good + "x").ok());
  EXPECT_FALSE(DecodeWayOffers("\x02" + good.substr(1)).ok()) << "a later format";
  WayOffers none = kHere;
  none.ways.clear();
  EXPECT_FALSE(DecodeWayOffers(Encode(none)).ok());
  WayOffers strange = kHere;
  strange.ways[1].network.address = "three";
  EXPECT_FALSE(DecodeWayOffers(Encode(strange)).ok());
}

}  // namespace
}  // namespace tensorhub::agent
