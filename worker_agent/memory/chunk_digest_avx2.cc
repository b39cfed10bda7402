// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Compiled for AVX2.

#include "worker_agent/memory/chunk_digest_body.h"

namespace tensorhub::agent {

uint64_t ChunkDigestAvx2(const DigestPiece* pieces, size_t count) {
  return DigestBody(pieces, count);
}

}  // namespace tensorhub::agent
