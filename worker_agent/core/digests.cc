// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/digests.h"

#include "common/bytes.h"

namespace tensorhub::agent {

std::string EncodeDigests(const Digests& digests, uint32_t first, uint32_t count) {
  TH_CHECK(count <= kDigestsPerMessage);
  std::string text;
  text.reserve(count * sizeof(uint64_t));
  ByteWriter writer(text);
  for (uint32_t chunk = first; chunk < first + count; ++chunk) writer.Put(digests.of(chunk));
  return text;
}

std::optional<std::vector<uint64_t>> DecodeDigests(std::string_view text) {
  const size_t count = text.size() / sizeof(uint64_t);
  if (text.size() % sizeof(uint64_t) != 0 || count > kDigestsPerMessage) return std::nullopt;
  ByteReader reader(text);
  std::vector<uint64_t> digests(count);
  for (uint64_t& digest : digests) digest = reader.Take<uint64_t>();
  return digests;
}

}  // namespace tensorhub::agent
