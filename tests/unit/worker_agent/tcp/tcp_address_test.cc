// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/tcp/tcp_address.h"

#include <gtest/gtest.h>

#include "worker_agent/tcp/tcp_greeting.h"

namespace tensorhub::agent {
namespace {

TEST(TcpAddress, OfEitherKindIsReadAsWritten) {
  for (const std::string& host : {std::string("\x0a\0\x03\x07", 4), std::string(16, '\x12')}) {
    const TcpAddress address{NewIdentity(), host, 7100};
    const auto read = DecodeTcpAddress(Encode(address));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, address);
  }
  EXPECT_EQ(TextOf({"", std::string("\x0a\0\x03\x07", 4), 7100}), "10.0.3.7:7100");
  EXPECT_EQ(TextOf({"", std::string(15, '\0') + '\1', 7100}), "[::1]:7100");
  EXPECT_NE(NewIdentity(), NewIdentity());
}

TEST(TcpAddress, WhatIsNoneIsRefused) {
  const std::string good = Encode(TcpAddress{NewIdentity(), "abcd", 7100});
  const std::string no_port = Encode(TcpAddress{NewIdentity(), "abcd", 0});
  const std::string later = '\x02' + good.substr(1);
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() - 1), good + "x", no_port, later}) {
    EXPECT_EQ(DecodeTcpAddress(bad).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(TcpGreeting, GarbageIsKnownByItsFirstBytes) {
  const std::string hello = Encode(Hello{NewIdentity(), NewIdentity()});
  ASSERT_EQ(hello.size(), kHelloBytes);
  for (size_t bytes = 0; bytes <= hello.size(); ++bytes) {
    EXPECT_TRUE(MayBeHello(hello.substr(0, bytes)));
  }
  for (const char* garbage : {"GET / HTTP/1.1", "\x16\x03\x01", "t\n"}) {
    EXPECT_FALSE(MayBeHello(garbage)) << garbage;
  }
  EXPECT_FALSE(DecodeHello(hello.substr(1)));
  EXPECT_FALSE(DecodeVerdict(hello));
  const std::string verdict = Encode(Verdict::kSomebodyElse);
  ASSERT_EQ(verdict.size(), kVerdictBytes);
  EXPECT_EQ(DecodeVerdict(verdict), Verdict::kSomebodyElse);
  EXPECT_FALSE(DecodeVerdict(verdict.substr(0, kVerdictBytes - 1) + '\x09'));
}

}  // namespace
}  // namespace tensorhub::agent
