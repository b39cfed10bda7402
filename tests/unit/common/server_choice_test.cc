// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/server_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/remedy.h"

namespace tensorhub {
namespace {

TEST(CheckServersTest, EachHasAHostAndAPort) {
  for (const char* good : {"hub:7070", "a:1,b:2", "[::1]:65535,10.0.0.1:80"}) {
    EXPECT_TRUE(CheckServers(good).ok()) << good;
  }
  for (const char* bad : {"", "hub", "a:1,", "hub:0", "h ub:1", "a:1,::1:7070", "hub:70000"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckServers(bad))) << bad;
  }
  EXPECT_THAT(std::string(CheckServers("a:1,::1:7070").message()),
              testing::HasSubstr("[::1]:7070"));
}

TEST(ServerChoiceTest, TheNextOfTheListIsAskedInTurn) {
  ServerChoice choice("a:1,b:1,c:1");
  EXPECT_TRUE(choice.several());
  std::vector<std::string> asked;
  for (int i = 0; i < 4; ++i) {
    asked.push_back(choice.current());
    choice.NotThere(choice.current(), "");
  }
  EXPECT_THAT(asked, testing::ElementsAre("a:1", "b:1", "c:1", "a:1"));
}

TEST(ServerChoiceTest, WhoLeadsIsFollowedAlsoOutsideOfTheList) {
  ServerChoice choice("a:1,b:1");
  choice.NotThere("a:1", "z:9");
  EXPECT_EQ(choice.current(), "z:9");
  choice.There("z:9");
  choice.NotThere("z:9", "");  // it ended: whoever spoke of it is asked again
  EXPECT_EQ(choice.current(), "a:1");
}

TEST(ServerChoiceTest, TheOthersAreNamedInTurn) {
  ServerChoice choice("a:1,b:1,c:1");
  EXPECT_EQ(choice.Other(0), "b:1");
  EXPECT_EQ(choice.Other(1), "b:1");
  EXPECT_EQ(choice.Other(2), "c:1");
  EXPECT_EQ(ServerChoice("a:1").Other(5), std::nullopt);
}

TEST(ServerChoiceTest, OfWhoIsNotAskedNothingFollows) {
  ServerChoice choice("a:1,b:1");
  choice.NotThere("b:1", "z:9");
  EXPECT_EQ(choice.current(), "a:1");
}

TEST(ServerChoiceTest, TwoThatNameEachOtherAreLeft) {
  ServerChoice choice("a:1,b:1,c:1");
  std::set<std::string> asked;
  for (int i = 0; i < 20; ++i) {
    const std::string now = choice.current();
    asked.insert(now);
    choice.NotThere(now, now == "a:1" ? "b:1" : now == "b:1" ? "a:1" : "");
  }
  EXPECT_TRUE(asked.contains("c:1"));
}

TEST(ServerChoiceTest, OneThatNamesItselfIsLeft) {
  ServerChoice choice("a:1,b:1");
  choice.NotThere("a:1", "a:1");
  EXPECT_EQ(choice.current(), "b:1");
}

TEST(ServerChoiceTest, ASingleOneIsTheOnlyOneUntilItSpeaksOfALeader) {
  ServerChoice choice("hub:1");
  choice.NotThere("hub:1", "");
  EXPECT_EQ(choice.current(), "hub:1");
  EXPECT_FALSE(choice.several());
  choice.NotThere("hub:1", "z:9");
  EXPECT_TRUE(choice.several());
  choice.NotThere("z:9", "");
  EXPECT_EQ(choice.current(), "hub:1");
}

TEST(KnownHubTest, ALowerEpochIsNeverObeyed) {
  using Verdict = KnownHub::Verdict;
  KnownHub hub;
  EXPECT_EQ(hub.Meet("store", 3), Verdict::kLeads);
  EXPECT_EQ(hub.Meet("store", 3), Verdict::kLeads);
  EXPECT_EQ(hub.Meet("store", 2), Verdict::kOlder);
  EXPECT_EQ(hub.Meet("other", 9), Verdict::kAnother);
  EXPECT_EQ(hub.epoch(), 3u);
  EXPECT_EQ(hub.Meet("store", 4), Verdict::kLeads);
  EXPECT_EQ(hub.Meet("store", 3), Verdict::kOlder);
  EXPECT_EQ(hub.Meet("", 1), Verdict::kLeads) << "a hub that keeps nothing";
  EXPECT_EQ(hub.epoch(), 4u);
  EXPECT_TRUE(hub.IsFollowedBy("store", 5));
  EXPECT_FALSE(hub.IsFollowedBy("store", 4));
  EXPECT_FALSE(hub.IsFollowedBy("other", 5));
  EXPECT_FALSE(KnownHub().IsFollowedBy("", 5));
}

TEST(RemedyTest, TheLeadersAddressTravelsInTheDetails) {
  const absl::Status status = WithLeader(absl::UnavailableError("stands by"), "[::1]:7070");
  EXPECT_EQ(DetailsOf(status), "4 [::1]:7070");
  const absl::Status heard = WithDetails(absl::UnavailableError(""), DetailsOf(status));
  EXPECT_EQ(RemedyOf(heard), Remedy::kAskLeader);
  EXPECT_EQ(LeaderOf(heard), "[::1]:7070");
  EXPECT_EQ(LeaderOf(WithLeader(absl::UnavailableError(""), "")), "");
  // R9
  for (const char* details : {"4 ", "4 host", "4 :1", "4 host:", "4 a b:1", "5 h:1", "3 h:1"}) {
    EXPECT_EQ(LeaderOf(WithDetails(absl::UnavailableError(""), details)), "") << details;
  }
}

}  // namespace
}  // namespace tensorhub
