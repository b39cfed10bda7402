// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/tensors.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/ids.h"
#include "common/layout.h"
#include "common/random.h"

namespace tensorhub::bench {
namespace {

// Where tensors of real models begin.
constexpr size_t kAlignment = 64;
constexpr uint64_t kCutSeed = 7;

std::vector<size_t> Permutation(size_t count, Random& random) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  return order;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryBlock>> MemoryBlock::Make(size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("no memory of %d bytes; use a smaller --bytes", bytes));
  }
  std::memset(data, 0xa5, bytes);
  return std::unique_ptr<MemoryBlock>(new MemoryBlock(static_cast<std::byte*>(data), bytes));
}

MemoryBlock::~MemoryBlock() { munmap(data_, bytes_); }

void Fill(std::byte* data, size_t bytes, uint64_t seed) {
  Random random(seed);
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
    const uint64_t word = random.Next();
    std::memcpy(data + at, &word, sizeof(word));
  }
  for (; at < bytes; ++at) data[at] = static_cast<std::byte>(random.Next());
}

std::vector<tensorhub::Tensor> CutIntoTensors(std::byte* data, size_t bytes, size_t count) {
  TH_CHECK(count > 0 && bytes / count >= 4 * kAlignment);
  Random random(kCutSeed);
  const std::vector<size_t> names = Permutation(count, random);
  const size_t mean = bytes / count / kAlignment;  // in units of the alignment
  std::vector<tensorhub::Tensor> tensors(count);
  size_t at = 0;
  size_t carried = 0;
  for (size_t i = 0; i < count; ++i) {
    // Half to one and a half times the mean, taken in pairs that sum to two means.
    const size_t units = i % 2 == 0 ? mean / 2 + random.Below(mean) : 2 * mean - carried;
    carried = units;
    const size_t rest = bytes - at;
    const size_t size = i + 1 == count ? rest : std::min(rest, units * kAlignment);
    tensors[i].name = absl::StrFormat("model.layers.%06d.weight", names[i]);
    tensors[i].data = data + at;
    tensors[i].bytes = size;
    tensors[i].dtype = "U8";
    tensors[i].shape = {size};
    at += size;
  }
  TH_CHECK(at == bytes);
  return tensors;
}

std::string DigestOf(const std::byte* data, size_t bytes) {
  return ToHex(FingerprintOf({reinterpret_cast<const char*>(data), bytes}));
}

}  // namespace tensorhub::bench
