// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/peer_wire.h"

#include "common/bytes.h"
#include "common/check.h"

namespace tensorhub::agent {
namespace {

constexpr uint16_t kMagic = 0x4854;  // "TH"
constexpr uint8_t kFormat = 1;
// Where they stand in the record.
constexpr size_t kKindAt = 3;
constexpr size_t kFlagsAt = 4;

bool KnownKind(uint8_t kind) {
  return kind >= static_cast<uint8_t>(PeerKind::kHello) &&
         kind <= static_cast<uint8_t>(PeerKind::kStand);
}

bool HasPositions(PeerKind kind) { return kind == PeerKind::kPart || kind == PeerKind::kStand; }

bool HasCapability(const PeerMessage& message) {
  const bool opens = message.kind == PeerKind::kOpen || message.kind == PeerKind::kOpenRanges;
  return opens && (message.flags & kFlagCapability) != 0;
}

bool Plausible(const PeerMessage& message) {
  return message.from != 0 && message.generation <= kGenerationMax &&
         message.chunk <= kChunkCountMax && message.valid <= kChunkCountMax &&
         message.confirmed <= kChunkCountMax && message.code <= 16 &&
         message.proven <= message.available;
}

}  // namespace

std::string Encode(const PeerMessage& message) {
  TH_CHECK(message.text.size() <= kPeerTextMax);
  std::string out;
  out.reserve(kPeerHeaderBytes + message.text.size());
  ByteWriter writer(out);
  writer.Put(kMagic);
  writer.Put(kFormat);
  writer.Put(static_cast<uint8_t>(message.kind));
  writer.Put(message.flags);
  writer.Put(uint8_t{0});
  writer.Put(message.code);
  writer.Put(message.from);
  writer.Put(message.to);
  writer.Put(message.read);
  writer.Put(message.generation);
  writer.Put(message.publication.hi);
  writer.Put(message.publication.lo);
  writer.Put(message.chunk_bytes);
  writer.Put(message.begin);
  writer.Put(message.chunk);
  writer.Put(message.valid);
  writer.Put(message.confirmed);
  writer.Put(static_cast<uint32_t>(message.text.size()));
  writer.PutBytes(message.text);
  if (HasPositions(message.kind)) {
    writer.Put(message.available);
    writer.Put(message.proven);
    writer.Put(message.digest);
  }
  if (HasCapability(message)) {
    writer.Put(static_cast<uint8_t>(message.use));
    writer.Put(message.capability.hi);
    writer.Put(message.capability.lo);
  }
  return out;
}

std::optional<PeerMessage> DecodePeerMessage(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.Take<uint16_t>() != kMagic || reader.Take<uint8_t>() != kFormat) return std::nullopt;
  const uint8_t kind = reader.Take<uint8_t>();
  if (!KnownKind(kind)) return std::nullopt;
  PeerMessage message;
  message.kind = static_cast<PeerKind>(kind);
  message.flags = reader.Take<uint8_t>();
  if (reader.Take<uint8_t>() != 0) return std::nullopt;
  message.code = reader.Take<uint16_t>();
  message.from = reader.Take<uint64_t>();
  message.to = reader.Take<uint64_t>();
  message.read = reader.Take<uint64_t>();
  message.generation = reader.Take<uint64_t>();
  message.publication.hi = reader.Take<uint64_t>();
  message.publication.lo = reader.Take<uint64_t>();
  message.chunk_bytes = reader.Take<uint64_t>();
  message.begin = reader.Take<uint64_t>();
  message.chunk = reader.Take<uint32_t>();
  message.valid = reader.Take<uint32_t>();
  message.confirmed = reader.Take<uint32_t>();
  const uint32_t text_bytes = reader.Take<uint32_t>();
  const bool positions = HasPositions(message.kind);
  const bool shows = HasCapability(message);
  const size_t rest =
      text_bytes + (positions ? kPeerPositionsBytes : 0) + (shows ? kPeerCapabilityBytes : 0);
  if (text_bytes > kPeerTextMax || reader.left() != rest) return std::nullopt;
  message.text = std::string(reader.TakeBytes(text_bytes));
  if (positions) {
    message.available = reader.Take<uint64_t>();
    message.proven = reader.Take<uint64_t>();
    message.digest = reader.Take<uint64_t>();
  }
  if (shows) {
    const uint8_t use = reader.Take<uint8_t>();
    if (!IsReadUse(use)) return std::nullopt;
    message.use = static_cast<ReadUse>(use);
    message.capability.hi = reader.Take<uint64_t>();
    message.capability.lo = reader.Take<uint64_t>();
  }
  if (!reader.ok() || !Plausible(message)) return std::nullopt;
  return message;
}

void Show(const Capability& capability, ReadUse use, PeerMessage& open) {
  if (!capability) return;
  open.flags |= kFlagCapability;
  open.use = use;
  open.capability = capability;
}

bool IsHashedPart(std::string_view header) {
  if (header.size() < kPeerHeaderBytes + kPeerPositionsBytes) return false;
  const auto kind = static_cast<uint8_t>(header[kKindAt]);
  const auto flags = static_cast<uint8_t>(header[kFlagsAt]);
  return kind == static_cast<uint8_t>(PeerKind::kPart) && (flags & kFlagHashed) != 0;
}

void SetPayloadDigest(uint64_t digest, std::string& header) {
  TH_CHECK(IsHashedPart(header));
  std::string bytes;
  ByteWriter(bytes).Put(digest);
  header.replace(header.size() - bytes.size(), bytes.size(), bytes);
}

uint64_t PayloadDigestOf(std::string_view header) {
  TH_CHECK(IsHashedPart(header));
  return ByteReader(header.substr(header.size() - sizeof(uint64_t))).Take<uint64_t>();
}

}  // namespace tensorhub::agent
