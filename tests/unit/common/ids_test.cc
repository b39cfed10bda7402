// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/ids.h"

#include <gtest/gtest.h>

#include "common/random.h"

namespace tensorhub {
namespace {

TEST(Id128, HexAndBytesAreInverse) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const Id128 id{random.Next(), random.Next()};
    EXPECT_EQ(ParseHex(ToHex(id)), id);
    EXPECT_EQ(FromBytes(ToBytes(id)), id);
  }
  EXPECT_EQ(ToHex({1, 0xff}), "000000000000000100000000000000ff");
}

TEST(Id128, RefusesOtherTexts) {
  EXPECT_FALSE(ParseHex(""));
  EXPECT_FALSE(ParseHex(std::string(31, '0')));
  EXPECT_FALSE(ParseHex(std::string(31, '0') + "g"));
  EXPECT_FALSE(ParseHex(std::string(31, '0') + "A"));
  EXPECT_FALSE(FromBytes(std::string(15, 'x')));
  EXPECT_FALSE(FromBytes(std::string(17, 'x')));
}

TEST(ControlWord, PacksAndUnpacks) {
  const ControlWord most{kGenerationMax, kChunkCountMax};
  EXPECT_EQ(UnpackControlWord(Pack(most)), most);
  EXPECT_EQ(Pack({1, 2}), (uint64_t{1} << 24) + 2);
  EXPECT_EQ(UnpackControlWord(Pack({5, 0})).generation, 5u);
}

TEST(NameProblem, SaysWhatIsWrong) {
  EXPECT_FALSE(NameProblem("qwen3-8b/actor"));
  EXPECT_EQ(NameProblem(""), "is empty");
  EXPECT_TRUE(NameProblem("/x"));
  EXPECT_TRUE(NameProblem("x/"));
  EXPECT_TRUE(NameProblem("a b"));
  EXPECT_TRUE(NameProblem("a\nb"));
  EXPECT_TRUE(NameProblem("\xc3\xa4"));
  EXPECT_FALSE(NameProblem(std::string(256, 'a')));
  EXPECT_TRUE(NameProblem(std::string(257, 'a')));
}

}  // namespace
}  // namespace tensorhub
