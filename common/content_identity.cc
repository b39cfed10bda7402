// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/content_identity.h"

#include <string>

#include "common/bytes.h"

namespace tensorhub {
namespace {

ContentDigest DigestOf(const std::string& bytes) {
  const Fingerprint digest = FingerprintOf(bytes);
  return digest ? digest : ContentDigest{0, 1};
}

}  // namespace

ContentDigest ShardDigest(const Fingerprint& layout, const Chunking& chunking,
                          const std::vector<uint64_t>& chunk_digests) {
  std::string bytes = ToBytes(layout);
  ByteWriter writer(bytes);
  writer.Put(chunking.total_bytes);
  writer.Put(chunking.chunk_bytes);
  for (const uint64_t digest : chunk_digests) writer.Put(digest);
  return DigestOf(bytes);
}

ContentDigest IdentityOfContent(const std::vector<ContentDigest>& shards) {
  std::string bytes;
  for (const ContentDigest& shard : shards) bytes += ToBytes(shard);
  return DigestOf(bytes);
}

}  // namespace tensorhub
