// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ways/data_address.h"

#include <gtest/gtest.h>

namespace tensorhub::agent {
namespace {

const std::string kFour("\x0a\0\0\x07", 4);
const std::string kSix = "\xfd" + std::string(14, '\0') + '\1';
const std::vector<Network> kHost = {{"eth0", kFour, 24}, {"eth1", kSix, 64}};

std::vector<Offered> Chosen(std::string_view text) {
  const auto chosen = ChooseOffered(kHost, text);
  EXPECT_TRUE(chosen.ok()) << text << ": " << chosen.status();
  return chosen.value_or(std::vector<Offered>());
}

TEST(DataAddress, NetworksAndPorts) {
  const PortRange any, one{7100, 7100}, some{7100, 7199};
  const Offered eth0{kHost[0], kFour, any}, eth1{kHost[1], kSix, any};
  EXPECT_EQ(Chosen(""), (std::vector{eth0, eth1}));
  EXPECT_EQ(Chosen("eth1,eth0,eth1"), (std::vector{eth1, eth0}));
  EXPECT_EQ(Chosen("fd00::1"), std::vector{eth1});
  EXPECT_EQ(Chosen("[fd00::1]"), std::vector{eth1});
  EXPECT_EQ(Chosen("[fd00::/8]:7100"), (std::vector{Offered{kHost[1], kSix, one}}));
  EXPECT_EQ(Chosen("10.0.0.0/8:7100-7199"), (std::vector{Offered{kHost[0], kFour, some}}));
  EXPECT_EQ(Chosen(":7100"),
            (std::vector{Offered{kHost[0], kFour, one}, Offered{kHost[1], kSix, one}}));
}

TEST(DataAddress, AnAddressThatThisHostDoesNotHaveIsTold) {
  const std::string nat("\xc0\x00\x02\x07", 4);
  EXPECT_EQ(Chosen("192.0.2.7:7100"), (std::vector{Offered{{"nat", nat, 32}, "", {7100, 7100}}}));
}

TEST(DataAddress, WhatIsNone) {
  for (const char* bad : {"eth0:", "eth0:0", "eth0:9-8", "eth0:65536", "eth0:x", "[fd00::1",
                          "[fd00::1]7", "10.0.0.7:1-2-3", "fd00::1/200", "a b"}) {
    EXPECT_EQ(ChooseOffered(kHost, bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  for (const char* none : {"eth7", "eth7:7100", "192.0.2.0/24"}) {
    EXPECT_EQ(ChooseOffered(kHost, none).status().code(), absl::StatusCode::kNotFound) << none;
  }
}

}  // namespace
}  // namespace tensorhub::agent
