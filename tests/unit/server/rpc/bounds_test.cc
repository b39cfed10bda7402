// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/remedy.h"

namespace tensorhub::rpc {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr int64_t kSomeMs = 7'200'000;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(BoundsTest, AddressesOfPeers) {
  EXPECT_EQ(Bounds::AddressOf("ipv4:10.0.0.7:34567"), "10.0.0.7");
  EXPECT_EQ(Bounds::AddressOf("ipv6:%5B::1%5D:5"), "::/64");
  EXPECT_EQ(Bounds::AddressOf("ipv6:[2001:db8:1:2:3:4:5:6]:5"), "2001:db8:1:2::/64");
  EXPECT_EQ(Bounds::AddressOf("ipv6:[2001:db8:1:2:ffff::9]:5"), "2001:db8:1:2::/64");
  EXPECT_EQ(Bounds::AddressOf("ipv6:%5Bfe80::1%25eth0%5D:5"), "fe80::/64");
  EXPECT_EQ(Bounds::AddressOf("ipv6:%5B::ffff:10.0.0.7%5D:5"), "10.0.0.7");
  EXPECT_EQ(Bounds::AddressOf("unix:/run/socket"), "unix:/run/socket");
  EXPECT_EQ(Bounds::AddressOf(""), "");
}

TEST(BoundsTest, CallsOfASecondByEachAccount) {
  const auto bounds = Bounds::Make({.calls_per_s = 2});
  const std::vector<std::string> one = {"10.0.0.7", "cn:one"};
  EXPECT_TRUE(bounds->Count(one, 0, kSomeMs).ok());
  EXPECT_TRUE(bounds->Count({"10.0.0.7", "cn:two"}, 0, kSomeMs + 1).ok());
  const absl::Status refused = bounds->Count({"10.0.0.7", "cn:three"}, 0, kSomeMs + 2);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_EQ(RemedyOf(refused), Remedy::kCallAgain) << "agents repeat it";
  EXPECT_THAT(Message(refused), AllOf(HasSubstr("10.0.0.7 has made 2 calls in this second"),
                                      HasSubstr("--calls-per-caller")));
  EXPECT_TRUE(bounds->Count({"10.0.0.8", "cn:one"}, 0, kSomeMs + 3).ok());
  EXPECT_THAT(Message(bounds->Count({"10.0.0.9", "cn:one"}, 0, kSomeMs + 4)), HasSubstr("cn:one"));
  EXPECT_TRUE(bounds->Count({"10.0.0.9", "cn:three"}, 0, kSomeMs + 5).ok())
      << "what was refused cost it nothing";
  EXPECT_TRUE(bounds->Count(one, 0, kSomeMs + 1000).ok());
  EXPECT_THAT(bounds->Met(), ElementsAre(Pair("calls-per-caller", 2)));
}

TEST(BoundsTest, BytesOfAMinute) {
  const auto bounds = Bounds::Make({.document_bytes_per_min = 100});
  EXPECT_TRUE(bounds->Count({"a"}, 60, kSomeMs).ok());
  EXPECT_TRUE(bounds->Count({"a"}, 40, kSomeMs + 59'000).ok());
  const absl::Status refused = bounds->Count({"a"}, 1, kSomeMs + 59'001);
  EXPECT_THAT(Message(refused),
              AllOf(HasSubstr("a has put 100 bytes"), HasSubstr("--document-bytes-per-caller")));
  EXPECT_TRUE(bounds->Count({"a"}, 0, kSomeMs + 59'002).ok()) << "other calls go on";
  EXPECT_TRUE(bounds->Count({"a"}, 100, kSomeMs + 60'000).ok());
}

TEST(BoundsTest, SessionsAtATime) {
  const auto bounds = Bounds::Make({.sessions = 2});
  auto first = *bounds->Sit({"a", "cn:one"}, kSomeMs);
  auto second = *bounds->Sit({"a", "cn:two"}, kSomeMs);
  const absl::Status refused = bounds->Sit({"a", "cn:three"}, kSomeMs).status();
  EXPECT_THAT(Message(refused),
              AllOf(HasSubstr("a has 2 sessions"), HasSubstr("--sessions-per-caller")));
  EXPECT_TRUE(bounds->Sit({"b", "cn:one"}, kSomeMs).ok());
  first.reset();
  EXPECT_TRUE(bounds->Sit({"a", "cn:three"}, kSomeMs).ok());
  EXPECT_THAT(bounds->Met(), ElementsAre(Pair("sessions-per-caller", 1)));
}

TEST(BoundsTest, NoBound) {
  const auto bounds = Bounds::Make({0, 0, 0});
  std::vector<std::shared_ptr<Bounds::Seat>> seats;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(bounds->Count({"a"}, uint64_t{1} << 40, kSomeMs).ok());
    seats.push_back(*bounds->Sit({"a"}, kSomeMs));
  }
}

// Whoever comes from many addresses makes it remember no more than so many.
TEST(BoundsTest, RemembersNoMoreThanItsBound) {
  const auto bounds = Bounds::Make({.sessions = 1, .calls_per_s = 1});
  const auto seat = *bounds->Sit({"sits"}, kSomeMs);
  for (size_t i = 0; i < Bounds::kCallersMax; ++i) {
    ASSERT_TRUE(bounds->Count({absl::StrCat("caller ", i)}, 0, kSomeMs).ok());
  }
  EXPECT_TRUE(bounds->Count({"late"}, 0, kSomeMs).ok());
  EXPECT_TRUE(bounds->Count({"late"}, 0, kSomeMs).ok()) << "without an account";
  EXPECT_TRUE(bounds->Count({"late"}, 0, kSomeMs + 2000).ok());
  EXPECT_FALSE(bounds->Count({"late"}, 0, kSomeMs + 2000).ok()) << "the others are forgotten";
  EXPECT_FALSE(bounds->Sit({"sits"}, kSomeMs + 2000).ok()) << "but for those that have sessions";
}

}  // namespace
}  // namespace tensorhub::rpc
