// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorhub {
namespace {

TEST(TextTest, ReadableTextStaysAsItIs) {
  EXPECT_EQ(ReadableText("", 4), "");
  EXPECT_EQ(ReadableText("caf\xc3\xa9", 5), "caf\xc3\xa9");
  EXPECT_EQ(ReadableText("\xf0\x9f\x98\x80", 4), "\xf0\x9f\x98\x80");
}

TEST(TextTest, ACharacterIsNotCut) {
  EXPECT_EQ(ReadableText("caf\xc3\xa9", 4), "caf");
  EXPECT_EQ(ReadableText("\xe2\x82\xac\xe2\x82\xac", 5), "\xe2\x82\xac");
  EXPECT_EQ(ReadableText("abc", 0), "");
}

TEST(TextTest, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(ReadableText("a\xff\xfe b", 8), "a?? b");
  EXPECT_EQ(ReadableText("\xe2\x82", 8), "??");                   // cut off
  EXPECT_EQ(ReadableText(std::string("a\0b", 3), 8).size(), 3u);  // is UTF-8
}

TEST(TextTest, NamesAreShownOnOneLine) {
  EXPECT_EQ(Shown("layers.0"), "\"layers.0\"");
  EXPECT_EQ(Shown("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
  EXPECT_EQ(Shown("a\n\x1b[2J\""), "\"a\\n\\033[2J\\\"\"");
  EXPECT_EQ(Shown(std::string(201, 'a')), "\"" + std::string(200, 'a') + "…\"");
}

}  // namespace
}  // namespace tensorhub
