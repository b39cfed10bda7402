// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where an Ethernet frame of IP has what, and its checksums. A frame of any content may be given.

#ifndef TENSORHUB_TOOLS_NETLAB_LINK_PACKET_H_
#define TENSORHUB_TOOLS_NETLAB_LINK_PACKET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tensorhub::netlab {

using Bytes = std::span<const uint8_t>;

constexpr size_t kEthernet = 14;
constexpr size_t kIpv4 = 20;
constexpr size_t kIpv6 = 40;
constexpr size_t kTcp = 20;
constexpr uint8_t kProtocolTcp = 6;
// Places in a TCP header, and its flags.
constexpr size_t kSequence = 4;
constexpr size_t kAcknowledged = 8;
constexpr size_t kTcpFlags = 13;
constexpr size_t kTcpChecksum = 16;
constexpr uint8_t kFin = 1;
constexpr uint8_t kSyn = 2;
constexpr uint8_t kRst = 4;
constexpr uint8_t kPush = 8;
constexpr uint8_t kAck = 16;
constexpr uint8_t kWindowReduced = 128;

inline uint16_t Word(Bytes bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}
inline void PutWord(std::vector<uint8_t>& bytes, size_t at, size_t value) {
  bytes[at] = static_cast<uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<uint8_t>(value);
}

struct Packet {
  size_t addresses = 0;  // source, then destination
  size_t address_bytes = 0;
  uint8_t protocol = 0;  // 0: a later fragment, which has no ports
  size_t payload = 0;
};

std::optional<Packet> PacketOf(Bytes frame);
// Whether TCP's header is there as a whole.
bool HasTcp(Bytes frame, const Packet& packet);

// The length in the IP header, and that header's checksum.
void PutLength(std::vector<uint8_t>& frame, const Packet& packet);
// The sum of addresses, protocol and length, which TCP's checksum begins with.
uint16_t PseudoSum(const std::vector<uint8_t>& frame, const Packet& packet);
// The checksum of all that a segment has.
void PutTcpChecksum(std::vector<uint8_t>& frame, const Packet& packet);

}  // namespace tensorhub::netlab

#endif  // TENSORHUB_TOOLS_NETLAB_LINK_PACKET_H_
