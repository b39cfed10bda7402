// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/tcp/tcp_greeting.h"

#include <algorithm>

namespace tensorhub::agent {
namespace {

// The last byte counts the formats.
constexpr std::string_view kHelloMagic = "thhello\x01";
constexpr std::string_view kVerdictMagic = "thanswr\x01";

}  // namespace

std::string Encode(const Hello& hello) {
  return std::string(kHelloMagic) + hello.wanted + hello.own;
}

std::string Encode(Verdict verdict) {
  return std::string(kVerdictMagic) + static_cast<char>(verdict);
}

std::optional<Hello> DecodeHello(std::string_view bytes) {
  if (bytes.size() != kHelloBytes || !bytes.starts_with(kHelloMagic)) return std::nullopt;
  bytes.remove_prefix(kHelloMagic.size());
  return Hello{std::string(bytes.substr(0, kIdentityBytes)),
               std::string(bytes.substr(kIdentityBytes))};
}

std::optional<Verdict> DecodeVerdict(std::string_view bytes) {
  if (bytes.size() != kVerdictBytes || !bytes.starts_with(kVerdictMagic)) return std::nullopt;
  const auto value = static_cast<unsigned char>(bytes.back());
  if (value > static_cast<unsigned char>(Verdict::kNoDescriptors)) return std::nullopt;
  return static_cast<Verdict>(value);
}

bool MayBeHello(std::string_view begin) {
  const size_t known = std::min(begin.size(), kHelloMagic.size());
  return begin.substr(0, known) == kHelloMagic.substr(0, known);
}

}  // namespace tensorhub::agent
