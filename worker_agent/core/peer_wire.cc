// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/peer_wire.h"

#include <cstring>

#include "common/check.h"

namespace tensorhub::agent {
namespace {

constexpr uint16_t kMagic = 0x4854;  // "TH"
constexpr uint8_t kFormat = 1;

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  template <typename T>
  void Put(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) {
      out_.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
    }
  }

 private:
  std::string& out_;
};

class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  T Take() {
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      value |= uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    }
    at_ += sizeof(T);
    return static_cast<T>(value);
  }
  std::string_view Rest() const { return bytes_.substr(at_); }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

bool KnownKind(uint8_t kind) {
  return kind >= static_cast<uint8_t>(PeerKind::kHello) &&
         kind <= static_cast<uint8_t>(PeerKind::kClose);
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
  Writer writer(out);
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
  out += message.text;
  return out;
}

std::optional<PeerMessage> DecodePeerMessage(std::string_view bytes) {
  if (bytes.size() < kPeerHeaderBytes) return std::nullopt;
  Cursor cursor(bytes);
  if (cursor.Take<uint16_t>() != kMagic || cursor.Take<uint8_t>() != kFormat) return std::nullopt;
  const uint8_t kind = cursor.Take<uint8_t>();
  if (!KnownKind(kind)) return std::nullopt;
  PeerMessage message;
  message.kind = static_cast<PeerKind>(kind);
  message.flags = cursor.Take<uint8_t>();
  if (cursor.Take<uint8_t>() != 0) return std::nullopt;
  message.code = cursor.Take<uint16_t>();
  message.from = cursor.Take<uint64_t>();
  message.to = cursor.Take<uint64_t>();
  message.read = cursor.Take<uint64_t>();
  message.generation = cursor.Take<uint64_t>();
  message.publication.hi = cursor.Take<uint64_t>();
  message.publication.lo = cursor.Take<uint64_t>();
  message.chunk_bytes = cursor.Take<uint64_t>();
  message.begin = cursor.Take<uint64_t>();
  message.chunk = cursor.Take<uint32_t>();
  message.valid = cursor.Take<uint32_t>();
  message.confirmed = cursor.Take<uint32_t>();
  const uint32_t text_bytes = cursor.Take<uint32_t>();
  if (text_bytes > kPeerTextMax || cursor.Rest().size() != text_bytes) return std::nullopt;
  message.text = std::string(cursor.Rest());
  if (!Plausible(message)) return std::nullopt;
  return message;
}

}  // namespace tensorhub::agent
