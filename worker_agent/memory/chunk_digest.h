// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The digest of a chunk: XXH3-64 of its bytes, which may lie in several pieces of memory. It is
// compiled twice, since AVX2 is half as fast again and the build is for any x86-64.

#ifndef TENSORHUB_WORKER_AGENT_MEMORY_CHUNK_DIGEST_H_
#define TENSORHUB_WORKER_AGENT_MEMORY_CHUNK_DIGEST_H_

#include <stddef.h>
#include <stdint.h>

namespace tensorhub::agent {

struct DigestPiece {
  const void* data = nullptr;
  size_t bytes = 0;
};

// The fastest that this processor runs; all give the same.
uint64_t ChunkDigest(const DigestPiece* pieces, size_t count);

// The two builds of ChunkDigest. The second must run only where the processor has AVX2.
uint64_t ChunkDigestPortable(const DigestPiece* pieces, size_t count);
uint64_t ChunkDigestAvx2(const DigestPiece* pieces, size_t count);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_MEMORY_CHUNK_DIGEST_H_
