// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What every tensor holds in every version: bytes that follow from the names alone, so that any
// process can check what it received without having seen the original.

#ifndef TENSORHUB_TESTS_INTEGRATION_WORKER_CONTENT_H_
#define TENSORHUB_TESTS_INTEGRATION_WORKER_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tensorhub::worker {

// Which bytes: all of them differ between any two of these.
struct ContentKey {
  uint64_t version = 0;
  uint32_t rank = 0;
  std::string tensor;
};

void FillContent(const ContentKey& key, void* data, size_t bytes);

// The first offset whose byte is not what FillContent writes; nothing if all are.
std::optional<size_t> FirstDifference(const ContentKey& key, const void* data, size_t bytes);

}  // namespace tensorhub::worker

#endif  // TENSORHUB_TESTS_INTEGRATION_WORKER_CONTENT_H_
