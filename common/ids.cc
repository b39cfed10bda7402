// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/ids.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"

namespace tensorhub {
namespace {

constexpr int kChunkBits = 24;

void AppendBigEndian(std::string& out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

uint64_t ReadBigEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (char c : bytes.substr(0, 8)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string ToHex(const Id128& id) { return absl::StrFormat("%016x%016x", id.hi, id.lo); }

std::optional<Id128> ParseHex(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  Id128 id;
  for (size_t i = 0; i < hex.size(); ++i) {
    const int digit = HexDigit(hex[i]);
    if (digit < 0) return std::nullopt;
    uint64_t& half = i < 16 ? id.hi : id.lo;
    half = half << 4 | static_cast<uint64_t>(digit);
  }
  return id;
}

std::string ToBytes(const Id128& id) {
  std::string out;
  AppendBigEndian(out, id.hi);
  AppendBigEndian(out, id.lo);
  return out;
}

std::optional<Id128> FromBytes(std::string_view bytes) {
  if (bytes.size() != 16) return std::nullopt;
  return Id128{ReadBigEndian(bytes), ReadBigEndian(bytes.substr(8))};
}

uint64_t Pack(ControlWord word) {
  TH_CHECK(word.generation <= kGenerationMax && word.valid_chunks <= kChunkCountMax);
  return word.generation << kChunkBits | word.valid_chunks;
}

ControlWord UnpackControlWord(uint64_t packed) {
  return {packed >> kChunkBits, static_cast<uint32_t>(packed & kChunkCountMax)};
}

std::string ToString(const WorkerKey& key) {
  return absl::StrCat(key.model, "/", key.group, "/", key.rank);
}

std::string ToString(const VersionSelector& selector) {
  switch (selector.kind) {
    case VersionSelector::Kind::kLatest:
      return "latest";
    case VersionSelector::Kind::kExact:
      return absl::StrCat(selector.version);
    case VersionSelector::Kind::kNewerThan:
      return absl::StrCat("newer than ", selector.version);
    case VersionSelector::Kind::kAny:
      return "any";
  }
  return "?";
}

std::optional<std::string> NameProblem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kNameBytesMax) return "is longer than 256 bytes";
  if (name.front() == '/' || name.back() == '/') return "begins or ends with '/'";
  for (char c : name) {
    if (c <= ' ' || c > '~') return "has a space or a byte that is not printable ASCII";
  }
  return std::nullopt;
}

}  // namespace tensorhub
