// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Covers: R9.2

#include "worker_agent/core/peer_wire.h"

#include "common/random.h"
#include "gtest/gtest.h"

namespace tensorhub::agent {
namespace {

constexpr int kKinds = 16;

PeerMessage Example(PeerKind kind) {
  PeerMessage message;
  message.kind = kind;
  message.flags = kFlagOneSided | kFlagHaveDescription;
  message.code = 10;
  message.from = 0x0102030405060708;
  message.to = ~uint64_t{0};
  message.read = 77;
  message.generation = kGenerationMax;
  message.publication = {0xaaaa, 0xbbbb};
  message.chunk_bytes = uint64_t{1} << 30;
  message.chunk = kChunkCountMax;
  message.valid = 12;
  message.confirmed = 11;
  message.begin = uint64_t{1} << 45;
  message.text = std::string("with a \0 in it", 14);
  if (kind != PeerKind::kPart && kind != PeerKind::kStand) return message;
  message.available = uint64_t{1} << 50;
  message.proven = message.available - 1;
  message.digest = ~uint64_t{0};
  return message;
}

void ExpectEqual(const PeerMessage& a, const PeerMessage& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.flags, b.flags);
  EXPECT_EQ(a.code, b.code);
  EXPECT_EQ(a.from, b.from);
  EXPECT_EQ(a.to, b.to);
  EXPECT_EQ(a.read, b.read);
  EXPECT_EQ(a.generation, b.generation);
  EXPECT_EQ(a.publication, b.publication);
  EXPECT_EQ(a.chunk_bytes, b.chunk_bytes);
  EXPECT_EQ(a.chunk, b.chunk);
  EXPECT_EQ(a.valid, b.valid);
  EXPECT_EQ(a.confirmed, b.confirmed);
  EXPECT_EQ(a.begin, b.begin);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.available, b.available);
  EXPECT_EQ(a.proven, b.proven);
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.use, b.use);
  EXPECT_EQ(a.capability, b.capability);
}

PeerMessage Showing(PeerKind kind) {
  PeerMessage open = Example(kind);
  Show({1, ~uint64_t{0}}, ReadUse::kDigests, open);
  return open;
}

TEST(PeerWire, EveryKindComesBackAsItWas) {
  for (int kind = 1; kind <= kKinds; ++kind) {
    const PeerMessage message = Example(static_cast<PeerKind>(kind));
    const auto decoded = DecodePeerMessage(Encode(message));
    ASSERT_TRUE(decoded) << kind;
    ExpectEqual(message, *decoded);
  }
}

TEST(PeerWire, TheHeaderHasTheSizeThatTheProtocolNames) {
  PeerMessage message = Example(PeerKind::kData);
  message.text.clear();
  EXPECT_EQ(Encode(message).size(), kPeerHeaderBytes);
  message.text.assign(kPeerTextMax, 'x');
  EXPECT_EQ(Encode(message).size(), kPeerHeaderBytes + kPeerTextMax);
  EXPECT_TRUE(DecodePeerMessage(Encode(message)));
}

TEST(PeerWire, WhatOpensAReadMayShowACapability) {
  for (const PeerKind kind : {PeerKind::kOpen, PeerKind::kOpenRanges}) {
    PeerMessage open = Showing(kind);
    const std::string bytes = Encode(open);
    EXPECT_EQ(bytes.size(), kPeerHeaderBytes + open.text.size() + kPeerCapabilityBytes);
    const auto decoded = DecodePeerMessage(bytes);
    ASSERT_TRUE(decoded);
    ExpectEqual(open, *decoded);
    std::string other = bytes;
    other[other.size() - kPeerCapabilityBytes] = 4;
    EXPECT_FALSE(DecodePeerMessage(other)) << "another use";
    open.flags &= static_cast<uint8_t>(~kFlagCapability);
    EXPECT_EQ(Encode(open).size(), kPeerHeaderBytes + open.text.size());
  }
  EXPECT_EQ(Encode(Showing(PeerKind::kHello)).size(), Encode(Example(PeerKind::kHello)).size());
  PeerMessage open = Example(PeerKind::kOpen);
  Show(Capability{}, ReadUse::kChunks, open);
  EXPECT_EQ(open.flags & kFlagCapability, 0) << "an older source is shown nothing";
}

TEST(PeerWire, APartGetsItsDigestWithoutBeingDecoded) {
  PeerMessage part = Example(PeerKind::kPart);
  EXPECT_FALSE(IsHashedPart(Encode(part)));
  part.flags = kFlagHashed;
  std::string header = Encode(part);
  ASSERT_TRUE(IsHashedPart(header));
  SetPayloadDigest(part.digest = 0x0123456789abcdef, header);
  ExpectEqual(part, *DecodePeerMessage(header));
  PeerMessage other = Example(PeerKind::kStand);
  other.flags = kFlagHashed;
  EXPECT_FALSE(IsHashedPart(Encode(other)));
  EXPECT_FALSE(IsHashedPart(std::string_view(header).substr(0, kPeerHeaderBytes)));
}

TEST(PeerWire, NoPrefixAndNoExtensionIsAMessage) {
  for (const PeerKind kind : {PeerKind::kHello, PeerKind::kPart, PeerKind::kOpen}) {
    const std::string whole = Encode(kind == PeerKind::kOpen ? Showing(kind) : Example(kind));
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(DecodePeerMessage(std::string_view(whole).substr(0, size))) << size;
    }
    EXPECT_FALSE(DecodePeerMessage(whole + "x"));
  }
}

TEST(PeerWire, RefusesWhatNobodyWouldSend) {
  const auto refused = [](auto&& change) {
    PeerMessage message = Example(PeerKind::kData);
    change(message);
    return !DecodePeerMessage(Encode(message));
  };
  EXPECT_TRUE(refused([](PeerMessage& message) { message.from = 0; }));
  EXPECT_TRUE(refused([](PeerMessage& message) { message.generation = kGenerationMax + 1; }));
  EXPECT_TRUE(refused([](PeerMessage& message) { message.chunk = kChunkCountMax + 1; }));
  EXPECT_TRUE(refused([](PeerMessage& message) { message.valid = kChunkCountMax + 1; }));
  EXPECT_TRUE(refused([](PeerMessage& message) { message.confirmed = kChunkCountMax + 1; }));
  EXPECT_TRUE(refused([](PeerMessage& message) { message.code = 17; }));
  EXPECT_TRUE(refused([](PeerMessage& message) { message.kind = static_cast<PeerKind>(0); }));
  EXPECT_TRUE(
      refused([](PeerMessage& message) { message.kind = static_cast<PeerKind>(kKinds + 1); }));
  PeerMessage part = Example(PeerKind::kPart);
  part.proven = part.available + 1;
  EXPECT_FALSE(DecodePeerMessage(Encode(part)));
  std::string other = Encode(Example(PeerKind::kData));
  other[0] = 'X';
  EXPECT_FALSE(DecodePeerMessage(other)) << "another magic";
  other = Encode(Example(PeerKind::kData));
  other[2] = 2;
  EXPECT_FALSE(DecodePeerMessage(other)) << "another format";
}

// Whatever is accepted is exactly what its own encoding says.
TEST(PeerWire, MutatedBytesAreRefusedOrMeanWhatTheySay) {
  Random random(7);
  int accepted = 0;
  for (int round = 0; round < 100'000; ++round) {
    const auto kind = static_cast<PeerKind>(1 + random.Below(kKinds));
    std::string bytes = Encode(random.Below(2) == 0 ? Showing(kind) : Example(kind));
    for (uint64_t flips = 1 + random.Below(4); flips > 0; --flips) {
      bytes[random.Below(bytes.size())] = static_cast<char>(random.Next());
    }
    if (random.Below(8) == 0) bytes.resize(random.Below(bytes.size() * 2));
    const auto decoded = DecodePeerMessage(bytes);
    if (!decoded) continue;
    ++accepted;
    EXPECT_EQ(Encode(*decoded), bytes);
  }
  EXPECT_GT(accepted, 1000);
}

TEST(PeerWire, NoiseIsRefused) {
  Random random(8);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random.Below(200), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.Next());
    const auto decoded = DecodePeerMessage(bytes);
    EXPECT_TRUE(!decoded || Encode(*decoded) == bytes);
  }
}

}  // namespace
}  // namespace tensorhub::agent
