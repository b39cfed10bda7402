// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/worker/content.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tensorhub::worker {
namespace {

// The words of a stream are independent of one another, so that the compiler can do several at
// once: a gigabyte must not take long to check.
class Arguments {
 public:
  explicit Arguments(const ContentKey& key) {
    seed_ = Mix(key.version * 0x9e3779b97f4a7c15u + key.rank);
    for (const char byte : key.tensor) seed_ = Mix(seed_ ^ static_cast<unsigned char>(byte));
  }
  uint64_t At(size_t index) const { return Mix(seed_ + index * 0x9e3779b97f4a7c15u); }

 private:
  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
    return z ^ (z >> 29);
  }
  uint64_t seed_;
};

// Made, copied and compared at once: a call for each word takes sanitizers minutes.
using Block = std::array<uint64_t, 512>;

Block BlockAt(const Arguments& words, size_t offset) {
  Block block;
  for (size_t i = 0; i < block.size(); ++i) block[i] = words.At(offset / sizeof(uint64_t) + i);
  return block;
}

}  // namespace

void FillContent(const ContentKey& key, void* data, size_t bytes) {
  const Arguments words(key);
  auto* to = static_cast<unsigned char*>(data);
  for (size_t offset = 0; offset < bytes; offset += sizeof(Block)) {
    const Block block = BlockAt(words, offset);
    std::memcpy(to + offset, block.data(), std::min(sizeof(block), bytes - offset));
  }
}

std::optional<size_t> FirstDifference(const ContentKey& key, const void* data, size_t bytes) {
  const Arguments words(key);
  const auto* from = static_cast<const unsigned char*>(data);
  for (size_t offset = 0; offset < bytes; offset += sizeof(Block)) {
    const Block block = BlockAt(words, offset);
    const size_t length = std::min(sizeof(block), bytes - offset);
    if (std::memcmp(from + offset, block.data(), length) == 0) continue;
    const auto* wanted = reinterpret_cast<const unsigned char*>(block.data());
    return offset + static_cast<size_t>(
                        std::mismatch(wanted, wanted + length, from + offset).first - wanted);
  }
  return std::nullopt;
}

}  // namespace tensorhub::worker
