// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/listen_address.h"

#include <gtest/gtest.h>

namespace tensorhub {
namespace {

TEST(ListenAddressTest, HostsAndPorts) {
  EXPECT_EQ(ListenAddress::Parse("0.0.0.0:7070").value(), (ListenAddress{"0.0.0.0", 7070}));
  EXPECT_EQ(ListenAddress::Parse("localhost:0").value(), (ListenAddress{"localhost", 0}));
  EXPECT_EQ(ListenAddress::Parse("[::1]:1").value(), (ListenAddress{"::1", 1}));
}

TEST(ListenAddressTest, PrintsWhatItParses) {
  for (const char* text : {"0.0.0.0:7070", "[::1]:1", "hub.example:65535"}) {
    EXPECT_EQ(ListenAddress::Parse(text).value().ToString(), text);
  }
}

TEST(ListenAddressTest, RefusesWhatIsUnclear) {
  for (const char* text : {"", "host", ":7070", "host:", "host:x", "host:65536", "host:-1",
                           "::1:70", "[::1]", "[::1:7070", "host:1 ", "[]:1", "[[]:1", "[a]b]:1"}) {
    EXPECT_FALSE(ListenAddress::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace tensorhub
