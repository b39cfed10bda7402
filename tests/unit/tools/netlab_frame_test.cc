// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstring>

#include "common/random.h"
#include "tools/netlab_link/frame.h"
#include "tools/netlab_link/train.h"

namespace tensorhub::netlab {
namespace {

using Frame = std::vector<uint8_t>;

constexpr size_t kTcpAt = kEthernet + kIpv4;

// From 10.0.0.1, port 1000, to 10.0.0.2, port 2000; sequence 5000, acknowledges 6000.
Frame Segment(size_t data) {
  Frame frame(kTcpAt + kTcp);
  for (size_t byte = 0; byte < 12; ++byte) frame[byte] = static_cast<uint8_t>(byte);
  frame[12] = 8;
  frame[kEthernet] = 0x45;
  frame[kEthernet + 9] = kProtocolTcp;
  for (const size_t at : {12, 16}) frame[kEthernet + at] = 10;
  frame[kEthernet + 15] = 1;
  frame[kEthernet + 19] = 2;
  PutWord(frame, kTcpAt, 1000);
  PutWord(frame, kTcpAt + 2, 2000);
  PutWord(frame, kTcpAt + kSequence + 2, 5000);
  PutWord(frame, kTcpAt + kAcknowledged + 2, 6000);
  frame[kTcpAt + 12] = 5 << 4;
  frame[kTcpAt + kTcpFlags] = kAck | kPush;
  for (size_t byte = 0; byte < data; ++byte) frame.push_back(static_cast<uint8_t>(byte * 7));
  PutLength(frame, *PacketOf(frame));
  return frame;
}

Frame AsTrain(const Frame& frame, uint16_t segment_bytes) {
  const OffloadHeader header{.flags = 1, .kind = 1, .segment_bytes = segment_bytes};
  Frame given(sizeof(header));
  std::memcpy(given.data(), &header, sizeof(header));
  given.insert(given.end(), frame.begin(), frame.end());
  return given;
}

Frame WithoutHeader(const Frame& cut) { return {cut.begin() + sizeof(OffloadHeader), cut.end()}; }

// Adds all words up, with the checksum: all ones, if that is right.
uint32_t Sum(Bytes bytes, uint32_t sum) {
  for (size_t at = 0; at + 1 < bytes.size(); at += 2) sum += Word(bytes, at);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

void ExpectReset(const Frame& reset, uint32_t sequence, uint16_t from_port) {
  ASSERT_EQ(reset.size(), kTcpAt + kTcp);
  EXPECT_EQ(reset[kTcpAt + kTcpFlags], kRst);
  EXPECT_EQ(Word(reset, kTcpAt + kSequence + 2), sequence);
  EXPECT_EQ(Word(reset, kTcpAt), from_port);
  EXPECT_EQ(Sum(Bytes(reset).subspan(kEthernet, kIpv4), 0), 0xffff);
  const uint32_t pseudo = Sum(Bytes(reset).subspan(kEthernet + 12, 8), kProtocolTcp + kTcp);
  EXPECT_EQ(Sum(Bytes(reset).subspan(kTcpAt), pseudo), 0xffff);
}

TEST(FrameTest, FlowsAreToldApartByPortsAndDirection) {
  Frame frame = Segment(10);
  const uint64_t flow = Look(frame).flow;
  EXPECT_TRUE(Look(frame).tcp);
  frame.push_back(1);
  EXPECT_EQ(Look(frame).flow, flow);
  EXPECT_NE(Look(ResetForSender(frame)).flow, flow);
  EXPECT_EQ(Look(ResetForReceiver(frame)).flow, flow);
  EXPECT_TRUE(Look(ResetForReceiver(frame)).resets);
  frame[kTcpAt + 1] ^= 1;
  EXPECT_NE(Look(frame).flow, flow);
}

TEST(FrameTest, ResetsAreWhatBothEndsBelieve) {
  const Frame frame = Segment(100);
  ExpectReset(ResetForReceiver(frame), 5000, 1000);
  ExpectReset(ResetForSender(frame), 6000, 2000);
  Frame unanswered = frame;
  unanswered[kTcpAt + kTcpFlags] = kSyn;
  EXPECT_TRUE(Look(unanswered).begins);
  EXPECT_TRUE(ResetForSender(unanswered).empty());
}

TEST(FrameTest, NeighboursAreFoundWhateverTheLink) {
  Frame arp(60);
  arp[12] = 8;
  arp[13] = 6;
  EXPECT_TRUE(Look(arp).neighbours);
  EXPECT_FALSE(Look(Segment(0)).neighbours);
}

TEST(FrameTest, StandsAnything) {
  Random random(3);
  for (int turn = 0; turn < 20000; ++turn) {
    const size_t data = random.Below(300);
    Frame frame = AsTrain(Segment(data), static_cast<uint16_t>(random.Below(200)));
    for (uint64_t change = random.Below(4); change > 0; --change) {
      uint8_t& byte = frame[random.Below(frame.size())];
      byte = static_cast<uint8_t>(random.Next());
    }
    frame.resize(random.Below(frame.size() + 1));
    const Train train(frame);
    Look(train.frame());
    ResetForReceiver(train.frame());
    ResetForSender(train.frame());
    for (size_t first = 0; first < train.segments() && !train.frame().empty(); ++first) {
      EXPECT_GE(train.Cut(first, 1).size(), sizeof(OffloadHeader) + train.BytesOf(first));
    }
  }
}

TEST(TrainTest, AFrameIsOneSegment) {
  const Frame frame = Segment(100);
  const Frame given = Train::Whole(frame);
  const Train train(given);
  EXPECT_EQ(train.segments(), 1);
  EXPECT_EQ(train.BytesOf(0), frame.size());
  EXPECT_EQ(train.Cut(0, 1), given);
}

TEST(TrainTest, IsCutWhereTheKernelWould) {
  const Frame frame = Segment(250);
  const Frame given = AsTrain(frame, 100);
  const Train train(given);
  ASSERT_EQ(train.segments(), 3);
  EXPECT_EQ(train.BytesOf(0), kTcpAt + kTcp + 100);
  EXPECT_EQ(train.BytesOf(2), kTcpAt + kTcp + 50);
  EXPECT_EQ(train.Cut(0, 3), given);
  const Frame middle = WithoutHeader(train.Cut(1, 1));
  EXPECT_EQ(Word(middle, kEthernet + 2), kIpv4 + kTcp + 100);
  EXPECT_EQ(Word(middle, kTcpAt + kSequence + 2), 5100);
  EXPECT_EQ(middle[kTcpAt + kTcpFlags], kAck);
  EXPECT_TRUE(std::equal(middle.begin() + kTcpAt + kTcp, middle.end(),
                         frame.begin() + kTcpAt + kTcp + 100));
  const Frame rest = WithoutHeader(train.Cut(1, 2));
  EXPECT_EQ(rest.size(), kTcpAt + kTcp + 150);
  EXPECT_EQ(rest[kTcpAt + kTcpFlags], kAck | kPush);
}

}  // namespace
}  // namespace tensorhub::netlab
