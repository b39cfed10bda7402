// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ways/networks.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorhub::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Ip(const char* text) {
  char bytes[16];
  if (inet_pton(AF_INET, text, bytes) == 1) return std::string(bytes, 4);
  EXPECT_EQ(inet_pton(AF_INET6, text, bytes), 1) << text;
  return std::string(bytes, 16);
}

Network Lan(const char* device, const char* address, int bits = 24) {
  return {device, Ip(address), bits};
}

Network Loopback() {
  Network lo = Lan("lo", "127.0.0.1", 8);
  lo.loopback = true;
  return lo;
}

Network Bridge(const char* device, const char* address) {
  Network bridge = Lan(device, address, 16);
  bridge.isolated = true;
  return bridge;
}

// "CODE: message" where there is an error.
std::vector<std::string> Chosen(std::vector<Network> all, std::string_view choice = "") {
  const auto chosen = ChooseNetworks(std::move(all), choice);
  if (!chosen.ok()) return {chosen.status().ToString()};
  std::vector<std::string> devices;
  for (const Network& network : *chosen) devices.push_back(network.device);
  return devices;
}

TEST(NetworksTest, BridgesOfContainersAndTheLoopbackAreNotOffered) {
  EXPECT_THAT(Chosen({Loopback(), Bridge("docker0", "172.17.0.1"), Lan("eth0", "10.0.0.1"),
                      Bridge("cni0", "10.244.1.1")}),
              ElementsAre("eth0"));
}

TEST(NetworksTest, WhereThereIsNothingElseTheyAre) {
  EXPECT_THAT(Chosen({Loopback()}), ElementsAre("lo"));
  EXPECT_THAT(Chosen({Loopback(), Bridge("docker0", "172.17.0.1")}), ElementsAre("lo", "docker0"));
}

TEST(NetworksTest, TheDefaultRouteComesFirstAndTunnelsLast) {
  Network tunnel = Lan("wg0", "100.64.0.1");
  tunnel.point_to_point = true;
  Network outwards = Lan("eth1", "10.1.0.1");
  outwards.default_route = true;
  EXPECT_THAT(Chosen({tunnel, Lan("eth0", "10.0.0.1"), outwards}),
              ElementsAre("eth1", "eth0", "wg0"));
}

TEST(NetworksTest, AChoiceIsADeviceAnAddressOrASubnet) {
  const std::vector<Network> all = {Loopback(), Bridge("docker0", "172.17.0.1"),
                                    Lan("eth0", "10.0.0.1"), Lan("eth1", "10.3.1.1"),
                                    Lan("ib0", "fd00::7", 64)};
  EXPECT_THAT(Chosen(all, "eth1"), ElementsAre("eth1"));
  EXPECT_THAT(Chosen(all, "10.0.0.1"), ElementsAre("eth0"));
  EXPECT_THAT(Chosen(all, "10.0.0.0/8"), ElementsAre("eth0", "eth1"));
  EXPECT_THAT(Chosen(all, "10.2.0.0/15"), ElementsAre("eth1"));
  EXPECT_THAT(Chosen(all, "fd00::/8"), ElementsAre("ib0"));
  EXPECT_THAT(Chosen(all, "docker0"), ElementsAre("docker0")) << "who asks for it gets it";
}

TEST(NetworksTest, AChoiceThatNothingFitsNamesWhatThereIs) {
  const std::vector<Network> all = {Lan("eth0", "10.0.0.1"), Lan("ib0", "fd00::7", 64)};
  EXPECT_THAT(Chosen(all, "eth7"),
              ElementsAre(testing::AllOf(HasSubstr("NOT_FOUND"), HasSubstr("eth7"),
                                         HasSubstr("eth0 10.0.0.1/24, ib0 fd00::7/64"))));
  for (const char* bad :
       {"10.0.0.0/33", "10.0.0/8", "eth0/8", "fd00::/129", "a b", "10.0.0.0/-1"}) {
    EXPECT_THAT(Chosen(all, bad), ElementsAre(HasSubstr("INVALID_ARGUMENT"))) << bad;
  }
}

TEST(NetworksTest, ADeviceIsOfferedOnceByTheAddressThatFits) {
  const std::vector<Network> all = {Lan("eth0", "10.0.0.1"), Lan("eth0", "10.0.0.2"),
                                    Lan("eth0", "fd00::7", 64)};
  EXPECT_EQ(ChooseNetworks(all, "")->size(), 1u);
  EXPECT_EQ(ChooseNetworks(all, "")->front().address, Ip("10.0.0.1"));
  EXPECT_EQ(ChooseNetworks(all, "fd00::/8")->front().address, Ip("fd00::7"));
}

TEST(NetworksTest, Subnets) {
  EXPECT_TRUE(IsWithin(Lan("eth0", "10.0.3.1", 23), Ip("10.0.2.9")));
  EXPECT_FALSE(IsWithin(Lan("eth0", "10.0.3.1", 23), Ip("10.0.4.9")));
  EXPECT_FALSE(IsWithin(Lan("eth0", "10.0.3.1", 0), Ip("fd00::1")));
  EXPECT_EQ(AddressText(Ip("fd00::1")), "fd00::1");
}

// Of the machine that runs this.
TEST(NetworksTest, ThisHostHasSome) {
  const std::vector<Network> all = ListNetworks();
  ASSERT_FALSE(all.empty());
  for (const Network& network : all) EXPECT_FALSE(network.address.empty()) << network.device;
  EXPECT_THAT(Chosen(all), testing::Not(IsEmpty()));
  EXPECT_EQ(SourceTowards(Ip("127.0.0.1")), Ip("127.0.0.1"));
}

}  // namespace
}  // namespace tensorhub::agent
