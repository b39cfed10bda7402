// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/netlab_link/frame.h"

#include <algorithm>
#include <optional>

namespace tensorhub::netlab {
namespace {

constexpr uint16_t kTypeArp = 0x0806;
constexpr uint8_t kProtocolUdp = 17;
constexpr uint8_t kIcmpv6 = 58;

uint64_t Mixed(uint64_t hash, Bytes bytes) {
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

// FNV's upper bits hardly depend on the last bytes, and a path is chosen by them.
uint64_t Spread(uint64_t hash) {
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

bool FindsNeighbours(Bytes frame, const Packet& packet) {
  return packet.protocol == kIcmpv6 && packet.address_bytes == 16 &&
         frame.size() > packet.payload && frame[packet.payload] >= 133 &&
         frame[packet.payload] <= 137;
}

uint64_t FlowOf(Bytes frame, const Packet& packet) {
  const Bytes addresses = frame.subspan(packet.addresses, 2 * packet.address_bytes);
  uint64_t hash = Mixed(0xcbf29ce484222325u, addresses);
  hash = Mixed(hash, Bytes(&packet.protocol, 1));
  const bool ports = packet.protocol == kProtocolTcp || packet.protocol == kProtocolUdp;
  if (ports && frame.size() >= packet.payload + 4) {
    hash = Mixed(hash, frame.subspan(packet.payload, 4));
  }
  return Spread(hash);
}

// A reset of the same connection and direction, without options and data.
std::vector<uint8_t> BareReset(Bytes segment, Packet& packet) {
  const size_t ip = packet.address_bytes == 4 ? kIpv4 : kIpv6;
  std::vector<uint8_t> bare(kEthernet + ip + kTcp);
  std::copy_n(segment.begin(), kEthernet + ip, bare.begin());
  const Bytes header = segment.subspan(packet.payload, kAcknowledged);
  packet.payload = kEthernet + ip;
  std::copy(header.begin(), header.end(), bare.end() - kTcp);
  if (packet.address_bytes == 4) bare[kEthernet] = 0x45;
  bare[packet.payload + kTcpFlags - 1] = 5 << 4;
  bare[packet.payload + kTcpFlags] = kRst;
  return bare;
}

void PutChecksums(std::vector<uint8_t>& frame, const Packet& packet) {
  PutLength(frame, packet);
  PutTcpChecksum(frame, packet);
}

void SwapEnds(std::vector<uint8_t>& frame, const Packet& packet) {
  const auto swap = [&](size_t at, size_t size) {
    const auto first = frame.begin() + static_cast<ptrdiff_t>(at);
    const auto second = first + static_cast<ptrdiff_t>(size);
    std::swap_ranges(first, second, second);
  };
  swap(0, 6);
  swap(packet.addresses, packet.address_bytes);
  swap(packet.payload, 2);
}

}  // namespace

FrameInfo Look(Bytes frame) {
  FrameInfo info;
  if (frame.size() >= kEthernet && Word(frame, 12) == kTypeArp) info.neighbours = true;
  const std::optional<Packet> packet = PacketOf(frame);
  if (!packet.has_value()) return info;
  info.neighbours = FindsNeighbours(frame, *packet);
  info.flow = FlowOf(frame, *packet);
  info.tcp = HasTcp(frame, *packet);
  if (info.tcp) {
    const int flags = frame[packet->payload + kTcpFlags];
    info.begins = (flags & kSyn) != 0;
    info.asks = info.begins && (flags & kAck) == 0;
    info.ends = (flags & (kFin | kRst)) != 0;
    info.resets = (flags & kRst) != 0;
  }
  return info;
}

std::vector<uint8_t> ResetForReceiver(Bytes segment) {
  std::optional<Packet> packet = PacketOf(segment);
  if (!packet.has_value() || !HasTcp(segment, *packet)) return {};
  std::vector<uint8_t> reset = BareReset(segment, *packet);
  PutChecksums(reset, *packet);
  return reset;
}

std::vector<uint8_t> ResetForSender(Bytes segment) {
  std::optional<Packet> packet = PacketOf(segment);
  if (!packet.has_value() || !HasTcp(segment, *packet)) return {};
  if ((segment[packet->payload + kTcpFlags] & kAck) == 0) return {};
  const Bytes acknowledged = segment.subspan(packet->payload + kAcknowledged, 4);
  std::vector<uint8_t> reset = BareReset(segment, *packet);
  std::copy(acknowledged.begin(), acknowledged.end(),
            reset.begin() + static_cast<ptrdiff_t>(packet->payload + kSequence));
  SwapEnds(reset, *packet);
  PutChecksums(reset, *packet);
  return reset;
}

}  // namespace tensorhub::netlab
