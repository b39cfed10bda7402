// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#define XXH_INLINE_ALL
#include "common/fingerprint.h"

#include <xxhash.h>

namespace tensorhub {

Fingerprint FingerprintOf(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace tensorhub
