// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What both builds of chunk_digest.h are made of. Includes nothing but C headers: an inline
// function of the standard library that was compiled for AVX2 could end up in code that runs
// anywhere.

#ifndef TENSORHUB_WORKER_AGENT_MEMORY_CHUNK_DIGEST_BODY_H_
#define TENSORHUB_WORKER_AGENT_MEMORY_CHUNK_DIGEST_BODY_H_

#include "worker_agent/memory/chunk_digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tensorhub::agent {

static uint64_t DigestBody(const DigestPiece* pieces, size_t count) {
  if (count == 1) return XXH3_64bits(pieces[0].data, pieces[0].bytes);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (size_t i = 0; i < count; ++i) XXH3_64bits_update(&state, pieces[i].data, pieces[i].bytes);
  return XXH3_64bits_digest(&state);
}

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_MEMORY_CHUNK_DIGEST_BODY_H_
