// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/peer_wire.h"

#include "common/bytes.h"
#include "common/check.h"

namespace tensorhub::agent {
namespace {

constexpr uint16_t kMagic = 0x4854;  // "TH"
constexpr uint8_t kFormat = 1;

bool KnownKind(uint8_t kind) {
  return kind >= static_cast<uint8_t>(PeerKind::kHello) &&
         kind <= static_cast<uint8_t>(PeerKind::kBye);
}

bool Plausible(const PeerMessage& message) {
  return message.from != 0 && message.generation <= kGenerationMax &&
         message.chunk <= kChunkCountMax && message.valid <= kChunkCountMax &&
         message.confirmed <= kChunkCountMax && message.code <= 16;
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
  if (text_bytes > kPeerTextMax || reader.left() != text_bytes) return std::nullopt;
  message.text = std::string(reader.TakeBytes(text_bytes));
  if (!reader.ok() || !Plausible(message)) return std::nullopt;
  return message;
}

}  // namespace tensorhub::agent
