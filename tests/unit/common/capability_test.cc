// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Covers: R9.8

#include "common/capability.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace tensorhub {
namespace {

const CapabilityKey kKey = CapabilityKey::Guessable(7);
const ReadRight kRight = {11, 12, {13, 14}, 15, ReadUse::kChunks};

TEST(Capability, AllowsWhatWasSigned) {
  const Capability capability = Sign(kKey, kRight);
  EXPECT_TRUE(capability);
  EXPECT_TRUE(Allows(capability, kKey, kRight));
  EXPECT_EQ(Sign(kKey, kRight), capability) << "the same every time";
}

TEST(Capability, EveryFieldCounts) {
  const Capability capability = Sign(kKey, kRight);
  const std::vector<std::function<void(ReadRight&)>> changes = {
      [](ReadRight& right) { ++right.reader; },
      [](ReadRight& right) { ++right.source; },
      [](ReadRight& right) { ++right.publication.hi; },
      [](ReadRight& right) { ++right.publication.lo; },
      [](ReadRight& right) { ++right.generation; },
      [](ReadRight& right) { --right.generation; },
      [](ReadRight& right) { right.use = ReadUse::kRanges; },
      [](ReadRight& right) { right.use = ReadUse::kDigests; },
      [](ReadRight& right) { std::swap(right.reader, right.source); },
      [](ReadRight& right) { std::swap(right.publication.hi, right.publication.lo); },
  };
  std::set<uint64_t> seen = {capability.hi};
  for (size_t i = 0; i < changes.size(); ++i) {
    ReadRight other = kRight;
    changes[i](other);
    EXPECT_FALSE(Allows(capability, kKey, other)) << "change " << i;
    EXPECT_TRUE(seen.insert(Sign(kKey, other).hi).second) << "change " << i;
  }
}

TEST(Capability, OnlyTheSourcesOwnKeyCounts) {
  EXPECT_FALSE(Allows(Sign(CapabilityKey::Guessable(8), kRight), kKey, kRight));
  for (size_t byte = 0; byte < kCapabilityKeyBytes; ++byte) {
    CapabilityKey other = kKey;
    other.bytes[byte] ^= 0x80;
    EXPECT_FALSE(Allows(Sign(other, kRight), kKey, kRight)) << byte;
  }
}

TEST(Capability, EveryBitOfItCounts) {
  for (int bit = 0; bit < 64; ++bit) {
    Capability forged = Sign(kKey, kRight);
    forged.hi ^= uint64_t{1} << bit;
    EXPECT_FALSE(Allows(forged, kKey, kRight)) << bit;
    forged = Sign(kKey, kRight);
    forged.lo ^= uint64_t{1} << bit;
    EXPECT_FALSE(Allows(forged, kKey, kRight)) << bit;
  }
  EXPECT_FALSE(Allows(Capability{}, kKey, kRight)) << "none is shown";
}

// What an agent and a hub of two versions agree on: these bytes, in this order.
TEST(Capability, IsTheHmacOfTheFieldsInTheirOrder) {
  const ReadRight right = {
      0x0102030405060708, ~uint64_t{0}, {1, 2}, kGenerationMax, ReadUse::kDigests};
  std::string fields = "THread1\x03";
  for (const uint64_t value :
       {right.reader, right.source, right.publication.hi, right.publication.lo, right.generation}) {
    for (int shift = 0; shift < 64; shift += 8) fields += static_cast<char>(value >> shift);
  }
  std::string code(32, '\0');
  ASSERT_NE(HMAC(EVP_sha256(), kKey.bytes.data(), kCapabilityKeyBytes,
                 reinterpret_cast<const unsigned char*>(fields.data()), fields.size(),
                 reinterpret_cast<unsigned char*>(code.data()), nullptr),
            nullptr);
  EXPECT_EQ(ToBytes(Sign(kKey, right)), code.substr(0, kCapabilityBytes));
}

TEST(Capability, ComesBackFromBytes) {
  const Capability capability = Sign(kKey, kRight);
  EXPECT_EQ(CapabilityFromBytes(ToBytes(capability)), capability);
  EXPECT_EQ(CapabilityFromBytes(""), Capability{});
  EXPECT_EQ(ToBytes(Capability{}), "");
  EXPECT_EQ(CapabilityKeyFromBytes(ToBytes(kKey)), kKey);
  EXPECT_EQ(CapabilityKeyFromBytes(""), CapabilityKey{});
  EXPECT_EQ(ToBytes(CapabilityKey{}), "");
  for (const size_t size : {1u, 15u, 17u, 31u, 33u, 64u}) {
    EXPECT_FALSE(CapabilityFromBytes(std::string(size, 'x'))) << size;
    EXPECT_FALSE(CapabilityKeyFromBytes(std::string(size, 'x'))) << size;
  }
  EXPECT_FALSE(CapabilityFromBytes(std::string(kCapabilityKeyBytes, 'x')));
  EXPECT_FALSE(CapabilityKeyFromBytes(std::string(kCapabilityBytes, 'x')));
}

TEST(Capability, OnlyThreeUsesAreKnown) {
  int known = 0;
  for (int value = 0; value < 256; ++value) known += IsReadUse(static_cast<uint8_t>(value));
  EXPECT_EQ(known, 3);
  EXPECT_FALSE(IsReadUse(0));
}

TEST(Capability, SecretsAreNotRepeated) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const CapabilityKey key{RandomSecret()};
    EXPECT_TRUE(key);
    EXPECT_TRUE(seen.insert(ToBytes(key)).second);
  }
}

}  // namespace
}  // namespace tensorhub
