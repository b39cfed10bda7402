// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tensorhub::http {
namespace {

using testing::HasSubstr;

std::string Problem(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(TargetTest, EscapesAreTaken) {
  EXPECT_EQ(*Unescaped("team%2Factor%25", false), "team/actor%");
  EXPECT_EQ(*Unescaped("a+b", false), "a+b");
  EXPECT_EQ(*Unescaped("a+b%2b", true), "a b+");
  EXPECT_EQ(*Unescaped("%00", false), std::string(1, '\0'));
  EXPECT_EQ(*Unescaped("", false), "");
}

TEST(TargetTest, WhatIsNoEscapeIsRefused) {
  for (const char* text : {"%", "%2", "a%zz", "%2g", "100%"}) {
    EXPECT_THAT(Problem(Unescaped(text, false).status()), HasSubstr("%25")) << text;
  }
}

TEST(TargetTest, PathAndQuery) {
  EXPECT_EQ(PathOf("/a/b?c=d?e"), "/a/b");
  EXPECT_EQ(QueryOf("/a/b?c=d?e"), "c=d?e");
  EXPECT_EQ(PathOf("/a"), "/a");
  EXPECT_EQ(QueryOf("/a"), "");
}

TEST(TargetTest, Parameters) {
  const auto parameters =
      Parameters::Parse("model=a%26b&limit=7&&empty=", {"model", "limit", "empty"});
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  EXPECT_EQ(parameters->Text("model"), "a&b");
  EXPECT_EQ(parameters->Text("empty"), "");
  EXPECT_EQ(parameters->Text("after"), std::nullopt);
  EXPECT_EQ(**parameters->Number("limit", 1, 7), 7u);
  EXPECT_EQ(*parameters->Number("after", 1, 7), std::nullopt);
}

TEST(TargetTest, ParametersThatAreUnknownOrComeTwice) {
  EXPECT_THAT(Problem(Parameters::Parse("offset=1", {"limit", "after"}).status()),
              testing::AllOf(HasSubstr("\"offset\""), HasSubstr("limit, after")));
  EXPECT_THAT(Problem(Parameters::Parse("offset", {}).status()), HasSubstr("give none"));
  EXPECT_THAT(Problem(Parameters::Parse("a=1&a=2", {"a"}).status()), HasSubstr("twice"));
  EXPECT_THAT(Problem(Parameters::Parse("a=%", {"a"}).status()), HasSubstr("%25"));
}

TEST(TargetTest, NumbersThatAreNone) {
  for (const char* text :
       {"", "-1", "+1", "1.5", "0x10", "ten", "0", "11", "99999999999999999999", "%201"}) {
    const auto parameters = Parameters::Parse(std::string("n=") + text, {"n"});
    ASSERT_TRUE(parameters.ok()) << text;
    EXPECT_THAT(Problem(parameters->Number("n", 1, 10).status()), HasSubstr("from 1 to 10"))
        << text;
  }
}

}  // namespace
}  // namespace tensorhub::http
