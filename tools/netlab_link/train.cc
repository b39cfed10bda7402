// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/netlab_link/train.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace tensorhub::netlab {
namespace {

constexpr size_t kHeader = sizeof(OffloadHeader);

constexpr uint8_t kAlone = 0;
constexpr uint8_t kTcpIpv4 = 1;
constexpr uint8_t kTcpIpv6 = 4;
constexpr uint8_t kCongestionSeen = 0x80;

bool IsTcp(uint8_t kind) {
  const int type = kind & ~kCongestionSeen;
  return type == kTcpIpv4 || type == kTcpIpv6;
}

std::vector<uint8_t> Joined(const OffloadHeader& header, Bytes frame) {
  std::vector<uint8_t> joined(kHeader + frame.size());
  std::memcpy(joined.data(), &header, kHeader);
  std::copy(frame.begin(), frame.end(), joined.begin() + kHeader);
  return joined;
}

void AddTo(std::vector<uint8_t>& frame, size_t at, size_t more) {
  uint32_t value = uint32_t{Word(frame, at)} << 16 | Word(frame, at + 2);
  value += static_cast<uint32_t>(more);
  PutWord(frame, at, value >> 16);
  PutWord(frame, at + 2, value & 0xffff);
}

}  // namespace

Train::Train(Bytes given) {
  if (given.size() < kHeader + kEthernet) return;
  std::memcpy(&header_, given.data(), kHeader);
  frame_ = given.subspan(kHeader);
  const std::optional<Packet> packet = PacketOf(frame_);
  if (!IsTcp(header_.kind) || !packet.has_value() || !HasTcp(frame_, *packet)) return;
  packet_ = *packet;
  headers_ = packet->payload + size_t{4} * (frame_[packet->payload + kTcpFlags - 1] >> 4);
  if (header_.segment_bytes == 0 || headers_ < packet->payload + kTcp ||
      headers_ >= frame_.size()) {
    return;
  }
  segment_bytes_ = header_.segment_bytes;
  segments_ = (data() + segment_bytes_ - 1) / segment_bytes_;
}

size_t Train::BytesOf(size_t segment) const {
  if (segments_ == 1) return frame_.size();
  return headers_ + std::min(segment_bytes_, data() - segment * segment_bytes_);
}

std::vector<uint8_t> Train::Whole(Bytes frame) { return Joined({}, frame); }

std::vector<uint8_t> Train::Cut(size_t first, size_t count) const {
  if (count == segments_) return Joined(header_, frame_);
  const size_t begin = first * segment_bytes_;
  const size_t end = std::min(data(), (first + count) * segment_bytes_);
  std::vector<uint8_t> cut(frame_.begin(), frame_.begin() + static_cast<ptrdiff_t>(headers_));
  const Bytes part = frame_.subspan(headers_ + begin, end - begin);
  cut.insert(cut.end(), part.begin(), part.end());
  if (packet_.address_bytes == 4) {
    PutWord(cut, kEthernet + 4, Word(cut, kEthernet + 4) + first);
  }
  PutLength(cut, packet_);
  AddTo(cut, packet_.payload + kSequence, begin);
  uint8_t& flags = cut[packet_.payload + kTcpFlags];
  if (end < data()) flags &= static_cast<uint8_t>(~(kFin | kPush));
  if (first > 0) flags &= static_cast<uint8_t>(~kWindowReduced);
  // The kernel adds the rest, where anybody wants it.
  PutWord(cut, packet_.payload + kTcpChecksum, PseudoSum(cut, packet_));
  OffloadHeader header = header_;
  header.headers = static_cast<uint16_t>(headers_);
  if (count == 1) {
    header.kind = kAlone;
    header.segment_bytes = 0;
  }
  return Joined(header, cut);
}

}  // namespace tensorhub::netlab
