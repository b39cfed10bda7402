// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tensorhub {
namespace {

using testing::HasSubstr;

TEST(ListenAddressTest, HostsAndPorts) {
  EXPECT_EQ(ListenAddress::Parse("0.0.0.0:7070").value(), (ListenAddress{"0.0.0.0", 7070}));
  EXPECT_EQ(ListenAddress::Parse("localhost:0").value(), (ListenAddress{"localhost", 0}));
  EXPECT_EQ(ListenAddress::Parse("[::1]:1").value(), (ListenAddress{"::1", 1}));
}

TEST(ListenAddressTest, PrintsWhatItParses) {
  for (const char* text :
       {"0.0.0.0:7070", "[::1]:1", "hub.example:65535", "my-hub_1:1", "[fe80::1%eth0]:1"}) {
    EXPECT_EQ(ListenAddress::Parse(text).value().ToString(), text);
  }
}

TEST(ListenAddressTest, RefusesWhatIsUnclear) {
  for (const char* text :
       {"",         "host",    ":7070",       "host:",       "host:x",  "host:65536",
        "host:-1",  "::1:70",  "[::1]",       "[::1:7070",   "host:1 ", "[]:1",
        "[[]:1",    "[a]b]:1", "user@host:1", "256.1.1.1:1", "1.2.3:1", "http://host:1",
        "[host]:1", "a b:1",   "host/x:1"}) {
    EXPECT_FALSE(ListenAddress::Parse(text).ok()) << text;
  }
}

std::string WhyNot(const char* text) {
  return std::string(ListenAddress::Parse(text).status().message());
}

TEST(ListenAddressTest, SaysWhereTheBracketsOfIpv6Belong) {
  EXPECT_THAT(WhyNot("::1:7070"), HasSubstr("write HOST:PORT, like [::1]:7070"));
  EXPECT_THAT(WhyNot("fe80::aa:0:7070"), HasSubstr("[fe80::aa:0]:7070"));
  // As a whole it is an address, without its last part it is none: it has no port.
  EXPECT_THAT(WhyNot("2001:db8::"), HasSubstr("[2001:db8::]:7070"));
  EXPECT_THAT(WhyNot("1:2:3:4:5:6:7:8"), HasSubstr("[1:2:3:4:5:6:7:8]:7070"));
  EXPECT_THAT(WhyNot("dns:///hub:7070"), HasSubstr("is not an address"));
  EXPECT_THAT(WhyNot("a\nb"), HasSubstr("\"a\\nb\" is not an address"));
}

}  // namespace
}  // namespace tensorhub
