// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace tensorhub::http {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PageTest, IsOneDocumentWithoutAnythingFromElsewhere) {
  const std::string html = MakePage().html;
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
  // But for the name of SVG, which nobody looks up.
  const std::regex address("https?://(?!www\\.w3\\.org/2000/svg)");
  EXPECT_FALSE(std::regex_search(html, address));
}

// What a name could become more by than text.
TEST(PageTest, PutsNothingInAsMarkup) {
  const std::string html = MakePage().html;
  for (const char* way : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                          "new Function", "srcdoc", "javascript:"}) {
    EXPECT_THAT(html, Not(HasSubstr(way)));
  }
}

TEST(PageTest, PolicyLetsItselfInAlone) {
  const std::string policy = MakePage().policy;
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(policy, HasSubstr("connect-src 'self'"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, Not(HasSubstr("*")));
}

}  // namespace
}  // namespace tensorhub::http
