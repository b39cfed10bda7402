// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R9: who may read at a source. A source makes a key when it starts and tells it to its hub. For
// each reader that it sends there, the hub signs what that one may do; the source knows its own
// key's signature, and so serves those alone without having been told of them. Pure functions; the
// signature is HMAC-SHA256, cut to 128 bits.
//
// There is no time in it, since no rule compares clocks (docs/protocol/failure_model.md). It ends
// with the generation: whatever the source holds next is under another one.

#ifndef TENSORHUB_COMMON_CAPABILITY_H_
#define TENSORHUB_COMMON_CAPABILITY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"

namespace tensorhub {

inline constexpr size_t kCapabilityKeyBytes = 32;
inline constexpr size_t kCapabilityBytes = 16;

// A source's secret. All zero: none.
struct CapabilityKey {
  std::array<uint8_t, kCapabilityKeyBytes> bytes{};

  explicit operator bool() const { return *this != CapabilityKey{}; }
  bool operator==(const CapabilityKey&) const = default;
  // One that everybody can guess, another for each number: for simulations and tests.
  static CapabilityKey Guessable(uint64_t number);
};

// A signature. All zero: none.
struct Capability {
  uint64_t hi = 0;
  uint64_t lo = 0;

  explicit operator bool() const { return hi != 0 || lo != 0; }
  bool operator==(const Capability&) const = default;
};

// For structural_hash.h: what is signed is hashed beside it, and keys are not kept in records.
inline uint64_t StructuralHash(const Capability& capability) { return capability ? 1 : 0; }

// What a reader may ask for.
enum class ReadUse : uint8_t {
  kChunks = 1,   // a read of chunks
  kRanges = 2,   // a read of ranges
  kDigests = 3,  // the digests of the chunks, and no byte of them
};
bool IsReadUse(uint8_t value);

// What a capability is about. A field more: another first byte of what is signed.
struct ReadRight {
  Incarnation reader = 0;
  Incarnation source = 0;
  PublicationId publication;
  Generation generation = 0;  // the source's
  ReadUse use = ReadUse::kChunks;
};

// Some hundred nanoseconds. Precondition: there is a key.
Capability Sign(const CapabilityKey& key, const ReadRight& right);
// Takes as long whatever is shown.
bool Allows(const Capability& shown, const CapabilityKey& key, const ReadRight& right);

// The wire's forms. Empty: none. Nothing for bytes of another length.
std::string ToBytes(const CapabilityKey& key);
std::string ToBytes(const Capability& capability);
std::optional<CapabilityKey> CapabilityKeyFromBytes(std::string_view bytes);
std::optional<Capability> CapabilityFromBytes(std::string_view bytes);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_CAPABILITY_H_
