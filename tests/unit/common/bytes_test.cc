// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/bytes.h"

#include <gtest/gtest.h>

#include "common/random.h"

namespace tensorhub {
namespace {

std::string Varint(uint64_t value) {
  std::string out;
  ByteWriter(out).PutVarint(value);
  return out;
}

TEST(Bytes, IntegersAreLittleEndian) {
  std::string out = "x";
  ByteWriter writer(out);
  writer.Put(uint8_t{0xfe});
  writer.Put(uint16_t{0x0102});
  writer.Put(uint32_t{0x03040506});
  writer.Put(uint64_t{0x0708090a0b0c0dff});
  EXPECT_EQ(out, "x\xfe\x02\x01\x06\x05\x04\x03\xff\x0d\x0c\x0b\x0a\x09\x08\x07");
  ByteReader reader(out);
  EXPECT_EQ(reader.TakeBytes(1), "x");
  EXPECT_EQ(reader.Take<uint8_t>(), 0xfe);
  EXPECT_EQ(reader.Take<uint16_t>(), 0x0102);
  EXPECT_EQ(reader.Take<uint32_t>(), 0x03040506u);
  EXPECT_EQ(reader.Take<uint64_t>(), 0x0708090a0b0c0dffu);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.left(), 0u);
}

TEST(Bytes, AfterTheEndEverythingIsNothing) {
  ByteReader reader("abcde");
  EXPECT_EQ(reader.Take<uint32_t>(), 0x64636261u);
  EXPECT_EQ(reader.Take<uint16_t>(), 0);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.left(), 0u);
  EXPECT_EQ(reader.Take<uint8_t>(), 0) << "although one byte was left";
  EXPECT_EQ(reader.TakeVarint(), 0u);
  EXPECT_EQ(reader.TakeBytes(0), "");
  EXPECT_FALSE(reader.ok());
}

TEST(Bytes, NoCountIsTooLargeToBeChecked) {
  ByteReader reader("abc");
  EXPECT_EQ(reader.TakeBytes(~uint64_t{0}), "");
  EXPECT_FALSE(reader.ok());
}

TEST(Bytes, VarintsAreInverse) {
  EXPECT_EQ(Varint(0), std::string(1, '\0'));
  EXPECT_EQ(Varint(0x7f), "\x7f");
  EXPECT_EQ(Varint(300), "\xac\x02");
  EXPECT_EQ(Varint(~uint64_t{0}).size(), 10u);
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t value = random.Next() >> random.Below(64);
    const std::string bytes = Varint(value);
    ByteReader reader(bytes);
    EXPECT_EQ(reader.TakeVarint(), value);
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.left(), 0u);
  }
  EXPECT_EQ(ByteReader(Varint(~uint64_t{0})).TakeVarint(), ~uint64_t{0});
}

TEST(Bytes, AVarintHasOneSpelling) {
  using namespace std::string_view_literals;
  for (const std::string_view wrong :
       {""sv, "\x80"sv, "\x80\x00"sv, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv,
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv}) {
    ByteReader reader(wrong);
    EXPECT_EQ(reader.TakeVarint(), 0u);
    EXPECT_FALSE(reader.ok()) << wrong.size();
  }
}

TEST(Bytes, ACountIsBoundedByWhatFollows) {
  ByteReader fits("\2wxyz");
  EXPECT_EQ(fits.TakeCount(2), 2u);
  EXPECT_TRUE(fits.ok());
  ByteReader beyond("\2wxy");
  EXPECT_EQ(beyond.TakeCount(2), 0u);
  EXPECT_FALSE(beyond.ok());
}

}  // namespace
}  // namespace tensorhub
