// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The identities that both sides speak of (docs/protocol/README.md), and the control word
// of rule R4. Plain values, no behaviour beyond printing and packing.

#ifndef TENSORHUB_COMMON_IDS_H_
#define TENSORHUB_COMMON_IDS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tensorhub {

// 128 bits: a publication (random), or a fingerprint (a hash). All zero means none.
struct Id128 {
  uint64_t hi = 0;
  uint64_t lo = 0;
  auto operator<=>(const Id128&) const = default;
  explicit operator bool() const { return hi != 0 || lo != 0; }
};

using PublicationId = Id128;
using Fingerprint = Id128;

// 32 hexadecimal digits.
std::string ToHex(const Id128& id);
std::optional<Id128> ParseHex(std::string_view hex);
// 16 bytes, big endian; the wire form.
std::string ToBytes(const Id128& id);
std::optional<Id128> FromBytes(std::string_view bytes);

// A version number; its bytes never change (R1).
using VersionNumber = uint64_t;
// One start of one worker process. Random, never 0.
using Incarnation = uint64_t;
// Counts a worker's sessions within one incarnation, from 1.
using SessionNumber = uint64_t;
// Numbers a worker's operations within one incarnation, from 1; a retry repeats the number.
using OpId = uint64_t;
// Raised whenever the meaning of a reference's buffers changes (R4). 40 bits, never 0.
using Generation = uint64_t;
inline constexpr Generation kGenerationMax = (Generation{1} << 40) - 1;
// A group's fetch. Random, so that a restarted server cannot confuse two.
using TransactionId = Id128;
// Counts the sources that one rank was given within one transaction, from 1.
using AssignmentNumber = uint64_t;
// In the place of one: every assignment of the fetch.
inline constexpr AssignmentNumber kAllAssignments = ~AssignmentNumber{0};

// One shard's place in a group. World sizes are bounded so that no message can ask for absurd
// amounts of memory.
using Rank = uint32_t;
inline constexpr uint32_t kWorldSizeMax = 65536;

// Rule R4's control word: generation (high 40 bits) and count of valid leading chunks (low 24).
struct ControlWord {
  Generation generation = 0;
  uint32_t valid_chunks = 0;
  auto operator<=>(const ControlWord&) const = default;
};
inline constexpr uint32_t kChunkCountMax = (1u << 24) - 1;
uint64_t Pack(ControlWord word);
ControlWord UnpackControlWord(uint64_t packed);

// R2: which processes a group consists of; another one whenever a rank starts anew. Made by the hub
// and told to the workers, who report it; the later one is the greater.
struct GroupEpoch {
  uint64_t hub_epoch = 0;  // of the hub, by which it was made; 0: not known
  uint64_t count = 0;      // of those made in that life
  auto operator<=>(const GroupEpoch&) const = default;
};

// R2: a trainer that goes back begins a new term of the model: what was published in earlier ones
// under `since` or above counts no more. Numbers rise only. 0: what was there before the first.
using TermNumber = uint64_t;
inline constexpr TermNumber kTermMax = TermNumber{1} << 40;
struct Term {
  TermNumber number = 0;
  VersionNumber since = 0;
  bool operator==(const Term&) const = default;
};

// The name of a rank's place: one worker at a time holds it.
struct WorkerKey {
  std::string model;
  std::string group;
  Rank rank = 0;
  auto operator<=>(const WorkerKey&) const = default;
};
// "model/group/rank", as logs and tables spell it.
std::string ToString(const WorkerKey& key);

// One life of the worker in that place.
struct WorkerIdentity {
  WorkerKey key;
  Incarnation incarnation = 0;
  auto operator<=>(const WorkerIdentity&) const = default;
};

// Which version a fetch asks for.
struct VersionSelector {
  enum class Kind { kLatest, kExact, kNewerThan, kAny };
  Kind kind = Kind::kLatest;
  VersionNumber version = 0;  // kExact: this one; kNewerThan: any above; kAny: 0 and any above
  // Whether a fetch waits until there is such a version.
  bool waits() const { return kind == Kind::kNewerThan || kind == Kind::kAny; }
  bool operator==(const VersionSelector&) const = default;
};
std::string ToString(const VersionSelector& selector);  // "latest", "7", "newer than 7", "any"

inline constexpr size_t kNameBytesMax = 256;
// OK-like check for names in R9's sense: 1..256 bytes of printable ASCII without spaces, and no
// leading or trailing '/'. Returns what is wrong, or nothing.
std::optional<std::string> NameProblem(std::string_view name);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_IDS_H_
