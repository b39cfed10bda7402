// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_envelope.h"

#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tensorhub::agent {
namespace {

constexpr uint32_t kMagic = 0x31554854;         // "THU1" on little-endian machines
constexpr size_t kContentBytesMax = 64 * 1024;  // UCX's addresses and keys are some hundred bytes

struct EnvelopeHead {
  uint32_t magic;
  uint32_t kind;
  uint64_t content_bytes;
  uint64_t checksum;
};

// The kind and the length seed the hash: damage to them shows as well.
uint64_t Checksum(EnvelopeKind kind, std::string_view content) {
  const uint64_t seed = content.size() << 8 | static_cast<unsigned char>(kind);
  return XXH3_64bits_withSeed(content.data(), content.size(), seed);
}

}  // namespace

std::string WrapEnvelope(EnvelopeKind kind, std::string_view content) {
  const EnvelopeHead head{kMagic, static_cast<unsigned char>(kind), content.size(),
                          Checksum(kind, content)};
  std::string envelope(sizeof(head), '\0');
  std::memcpy(envelope.data(), &head, sizeof(head));
  envelope.append(content);
  return envelope;
}

absl::StatusOr<std::string_view> UnwrapEnvelope(EnvelopeKind kind, std::string_view envelope) {
  EnvelopeHead head;
  if (envelope.size() < sizeof(head)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("UCX envelope of %d bytes is too short", envelope.size()));
  }
  std::memcpy(&head, envelope.data(), sizeof(head));
  const std::string_view content = envelope.substr(sizeof(head));
  if (head.magic != kMagic) return absl::InvalidArgumentError("UCX envelope has a wrong magic");
  if (head.kind != static_cast<unsigned char>(kind)) {
    return absl::InvalidArgumentError("UCX envelope holds something else than expected");
  }
  if (head.content_bytes != content.size() || content.empty() ||
      content.size() > kContentBytesMax) {
    return absl::InvalidArgumentError(absl::StrFormat("UCX envelope says %d bytes but holds %d",
                                                      head.content_bytes, content.size()));
  }
  if (head.checksum != Checksum(kind, content)) {
    return absl::InvalidArgumentError("UCX envelope has a wrong checksum");
  }
  return content;
}

}  // namespace tensorhub::agent
