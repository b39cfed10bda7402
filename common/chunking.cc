// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/chunking.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/ids.h"

namespace tensorhub {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kChunkBytesMin = 4 * kKiB;
constexpr uint64_t kChunkBytesMax = kKiB * kKiB * kKiB;

}  // namespace

uint64_t DefaultChunkBytes(uint64_t total_bytes) {
  constexpr uint64_t kStep = 64 * kKiB;
  const auto round_up = [](uint64_t bytes) {
    return (bytes / kStep + (bytes % kStep != 0)) * kStep;
  };
  const uint64_t wanted = std::clamp(total_bytes / 2048, 128 * kKiB, 512 * kKiB);
  const uint64_t needed = total_bytes / kChunkCountMax + (total_bytes % kChunkCountMax != 0);
  return round_up(std::max(wanted, needed));
}

absl::Status CheckChunking(const Chunking& chunking) {
  const uint64_t size = chunking.chunk_bytes;
  if (size < kChunkBytesMin || size > kChunkBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk_bytes is ", size, "; it must be between 4 KiB and 1 GiB"));
  }
  const uint64_t count = chunking.total_bytes / size + (chunking.total_bytes % size != 0);
  if (count > kChunkCountMax) {
    return absl::InvalidArgumentError(absl::StrCat("chunk_bytes ", size, " cuts the shard into ",
                                                   count, " chunks; at most ", kChunkCountMax));
  }
  return absl::OkStatus();
}

}  // namespace tensorhub
