// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/arguments.h"

#include <gtest/gtest.h>

#include "common/ids.h"

namespace tensorhub::ctl {
namespace {

TEST(ArgumentsTest, VersionsAreWholeNumbersOf64Bits) {
  VersionArgument version;
  EXPECT_FALSE(ParseValue("0", &version));
  EXPECT_FALSE(ParseValue("18446744073709551615", &version));
  EXPECT_EQ(version.value, 18446744073709551615u);
  for (const char* bad :
       {"", "-1", "+1", " 1", "1 ", "1x", "0x10", "1.0", "1e3", "latest", "18446744073709551616"}) {
    EXPECT_TRUE(ParseValue(bad, &version)) << bad;
  }
}

TEST(ArgumentsTest, LatestIsAWord) {
  VersionOrLatest version;
  EXPECT_FALSE(ParseValue("latest", &version));
  EXPECT_FALSE(version.exact.has_value());
  EXPECT_FALSE(ParseValue("42", &version));
  EXPECT_EQ(version.exact, 42u);
  for (const char* bad : {"", "Latest", "newest", "42 ", "-1"}) {
    EXPECT_TRUE(ParseValue(bad, &version)) << bad;
  }
}

TEST(ArgumentsTest, ModelsAreNames) {
  ModelArgument model;
  EXPECT_FALSE(ParseValue("qwen3-8b/actor", &model));
  EXPECT_TRUE(ParseValue("", &model));
  EXPECT_TRUE(ParseValue("a b", &model));
}

TEST(ArgumentsTest, GroupsAndLocations) {
  GroupFlag group;
  EXPECT_FALSE(ParseValue("rollout-3", &group));
  EXPECT_TRUE(ParseValue("a b", &group));
  EXPECT_EQ(group.name, "rollout-3");
  LocationFlag location;
  EXPECT_FALSE(ParseValue("us/dc1/r4/h7", &location));
  EXPECT_TRUE(ParseValue("a/b/c/d/e/f", &location));
  EXPECT_TRUE(ParseValue("us//r4", &location));
  EXPECT_EQ(location.text, "us/dc1/r4/h7");
}

TEST(ArgumentsTest, Servers) {
  for (const char* good : {"localhost:7070", "10.0.0.1:1", "[::1]:65535", "hub.example:80"}) {
    EXPECT_FALSE(ServerProblem(good)) << good;
  }
  for (const char* bad : {"", "localhost", ":7070", "localhost:", "localhost:0", "localhost:65536",
                          "localhost:70x", "::1:7070", "localhost:-1"}) {
    EXPECT_TRUE(ServerProblem(bad)) << bad;
  }
}

TEST(ArgumentsTest, GroupsAreUniqueNames) {
  const std::string group = UniqueGroup("ctl-fetch");
  EXPECT_TRUE(group.starts_with("ctl-fetch-"));
  EXPECT_FALSE(NameProblem(group));
  EXPECT_NE(group, UniqueGroup("ctl-fetch"));
}

}  // namespace
}  // namespace tensorhub::ctl
