// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Files into memory by several threads: one alone spends most of its time on making pages of
// memory that nobody has touched yet.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_PARALLEL_READ_H_
#define TENSORHUB_TOOLS_SAFETENSORS_PARALLEL_READ_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/safetensors/input_file.h"

namespace tensorhub::safetensors {

// `bytes` of a file from `offset` on.
struct FileRange {
  const std::string* path = nullptr;
  const FileState* state = nullptr;  // as it has to be, before and after
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::byte* to = nullptr;
};

// Each thread has one file open at a time, however many there are. `after` hears how many bytes
// have been read so far, from any thread but one at a time; its error ends the read.
absl::Status ReadRanges(const std::vector<FileRange>& ranges,
                        const std::function<absl::Status(uint64_t)>& after);

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_PARALLEL_READ_H_
