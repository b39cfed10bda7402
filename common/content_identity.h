// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R1: what a publication's content is, as 16 bytes that everybody computes alike: a digest over the
// digests of a shard's chunks, and one over those of the shards. They say that two contents are the
// same; they are no authentication.

#ifndef TENSORHUB_COMMON_CONTENT_IDENTITY_H_
#define TENSORHUB_COMMON_CONTENT_IDENTITY_H_

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "common/layout.h"

namespace tensorhub {

// XXH3-128; never all zero, which means none.
using ContentDigest = Id128;

// A shard's digest: over its layout, how it is cut into chunks, and XXH3-64 of each chunk in order.
ContentDigest ShardDigest(const Fingerprint& layout, const Chunking& chunking,
                          const std::vector<uint64_t>& chunk_digests);

// A publication's identity: over its shards' digests, by rank.
ContentDigest IdentityOfContent(const std::vector<ContentDigest>& shards);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_CONTENT_IDENTITY_H_
