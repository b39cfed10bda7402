// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/memory/chunk_digest.h"

#include "worker_agent/memory/chunk_digest_body.h"

namespace tensorhub::agent {

uint64_t ChunkDigestPortable(const DigestPiece* pieces, size_t count) {
  return DigestBody(pieces, count);
}

uint64_t ChunkDigest(const DigestPiece* pieces, size_t count) {
#ifdef TENSORHUB_DIGEST_AVX2
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  if (avx2) return ChunkDigestAvx2(pieces, count);
#endif
  return ChunkDigestPortable(pieces, count);
}

}  // namespace tensorhub::agent
