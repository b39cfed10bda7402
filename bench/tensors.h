// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The memory that is moved: a block of ordinary memory with every page touched, and its division
// into tensors. Sizes differ, and the order of names is not the order of addresses, so that
// neighbours in the version are not neighbours in memory: nothing merges by luck.

#ifndef TENSORHUB_BENCH_TENSORS_H_
#define TENSORHUB_BENCH_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorhub/ros.h"

namespace tensorhub::bench {

class MemoryBlock {
 public:
  // RESOURCE_EXHAUSTED names the size.
  static absl::StatusOr<std::unique_ptr<MemoryBlock>> Make(size_t bytes);
  ~MemoryBlock();
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  MemoryBlock(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* const data_;
  const size_t bytes_;
};

// Every byte depends on its place and on the seed.
void Fill(std::byte* data, size_t bytes, uint64_t seed);

// `count` tensors that together are exactly `bytes` at `data`; bytes >= 256 * count.
std::vector<tensorhub::Tensor> CutIntoTensors(std::byte* data, size_t bytes, size_t count);

// Digest of the block as a whole; blocks that were cut alike and hold the same tensors are equal.
std::string DigestOf(const std::byte* data, size_t bytes);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_TENSORS_H_
