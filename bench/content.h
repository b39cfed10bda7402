// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a role's tensors hold, in host memory or in a GPU's.

#ifndef TENSORHUB_BENCH_CONTENT_H_
#define TENSORHUB_BENCH_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/cuda/driver.h"

namespace tensorhub::bench {

class Content {
 public:
  virtual ~Content() = default;
  virtual std::byte* data() const = 0;
  // Every byte depends on its place and on the seed.
  virtual absl::Status Fill(uint64_t seed) = 0;
  // Something else in every byte.
  virtual absl::Status Scrub() = 0;
  // Something of its own in every chunk.
  virtual absl::Status Stamp(uint64_t version) = 0;
  virtual absl::StatusOr<std::string> Digest() = 0;
};

// Memory that exists.
std::unique_ptr<Content> ContentInHostMemory(std::byte* data, size_t bytes);
// An allocation of its own. UNAVAILABLE: no driver or no such device; RESOURCE_EXHAUSTED names the
// size.
absl::StatusOr<std::unique_ptr<Content>> ContentOnDevice(agent::CudaDriver* driver, int device,
                                                         size_t bytes);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_CONTENT_H_
