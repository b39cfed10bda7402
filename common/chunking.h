// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A shard's byte space cut into chunks of fixed size (the last one may be shorter).

#ifndef TENSORHUB_COMMON_CHUNKING_H_
#define TENSORHUB_COMMON_CHUNKING_H_

#include <cstdint>

#include "absl/status/status.h"

namespace tensorhub {

struct Chunking {
  uint64_t total_bytes = 0;
  uint64_t chunk_bytes = 1;

  uint32_t count() const {
    return static_cast<uint32_t>((total_bytes + chunk_bytes - 1) / chunk_bytes);
  }
  uint64_t begin(uint32_t chunk) const { return chunk * chunk_bytes; }
  uint64_t size(uint32_t chunk) const {
    const uint64_t start = begin(chunk);
    return start + chunk_bytes <= total_bytes ? chunk_bytes : total_bytes - start;
  }
  bool operator==(const Chunking&) const = default;
};

// About total/2048, a multiple of 64 KiB between 128 KiB and 512 KiB (and larger only where the
// control word's 24 bits would not suffice). A chain's members each add the time of one chunk
// (docs/architecture.md, "Chunks"), so chunks are as small as a read's fixed cost allows.
uint64_t DefaultChunkBytes(uint64_t total_bytes);
// INVALID_ARGUMENT unless 4 KiB <= chunk_bytes <= 1 GiB and the count fits the control word.
absl::Status CheckChunking(const Chunking& chunking);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_CHUNKING_H_
