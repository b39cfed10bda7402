// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/netlab_link/packet.h"

namespace tensorhub::netlab {
namespace {

constexpr uint16_t kTypeIpv4 = 0x0800;
constexpr uint16_t kTypeIpv6 = 0x86dd;

uint32_t Summed(Bytes bytes, uint32_t sum) {
  size_t at = 0;
  for (; at + 1 < bytes.size(); at += 2) sum += Word(bytes, at);
  if (at < bytes.size()) sum += uint32_t{bytes[at]} << 8;
  return sum;
}

uint16_t Folded(uint32_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

uint16_t Complement(uint16_t sum) { return static_cast<uint16_t>(~sum); }

}  // namespace

std::optional<Packet> PacketOf(Bytes frame) {
  if (frame.size() < kEthernet + kIpv4) return std::nullopt;
  const uint16_t type = Word(frame, 12);
  if (type == kTypeIpv4) {
    const size_t header = size_t{4} * (frame[kEthernet] & 15);
    if (header < kIpv4) return std::nullopt;
    const bool later_fragment = (Word(frame, kEthernet + 6) & 0x1fff) != 0;
    return Packet{kEthernet + 12, 4, later_fragment ? uint8_t{0} : frame[kEthernet + 9],
                  kEthernet + header};
  }
  if (type != kTypeIpv6 || frame.size() < kEthernet + kIpv6) return std::nullopt;
  return Packet{kEthernet + 8, 16, frame[kEthernet + 6], kEthernet + kIpv6};
}

bool HasTcp(Bytes frame, const Packet& packet) {
  return packet.protocol == kProtocolTcp && frame.size() >= packet.payload + kTcp;
}

void PutLength(std::vector<uint8_t>& frame, const Packet& packet) {
  if (packet.address_bytes == 16) {
    PutWord(frame, kEthernet + 4, frame.size() - packet.payload);
    return;
  }
  PutWord(frame, kEthernet + 2, frame.size() - kEthernet);
  PutWord(frame, kEthernet + 10, 0);
  const Bytes header = Bytes(frame).subspan(kEthernet, packet.payload - kEthernet);
  PutWord(frame, kEthernet + 10, Complement(Folded(Summed(header, 0))));
}

uint16_t PseudoSum(const std::vector<uint8_t>& frame, const Packet& packet) {
  const Bytes addresses = Bytes(frame).subspan(packet.addresses, 2 * packet.address_bytes);
  const auto length = static_cast<uint32_t>(frame.size() - packet.payload);
  return Folded(Summed(addresses, packet.protocol + length));
}

void PutTcpChecksum(std::vector<uint8_t>& frame, const Packet& packet) {
  PutWord(frame, packet.payload + kTcpChecksum, 0);
  const uint32_t sum = Summed(Bytes(frame).subspan(packet.payload), PseudoSum(frame, packet));
  PutWord(frame, packet.payload + kTcpChecksum, Complement(Folded(sum)));
}

}  // namespace tensorhub::netlab
