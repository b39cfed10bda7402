// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One open file read at offsets. Not mapped: a mapped file that another process truncates kills
// its reader, a read merely fails.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_INPUT_FILE_H_
#define TENSORHUB_TOOLS_SAFETENSORS_INPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tensorhub::safetensors {

class InputFile {
 public:
  // NOT_FOUND, PERMISSION_DENIED or INVALID_ARGUMENT (no regular file), naming the path.
  static absl::StatusOr<InputFile> Open(const std::string& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }

  // Exactly `count` bytes from `offset`. DATA_LOSS if the file ends before them.
  absl::Status ReadAt(uint64_t offset, void* out, size_t count) const;

 private:
  InputFile(std::string path, int fd, uint64_t bytes);

  std::string path_;
  int fd_;
  uint64_t bytes_;
};

// The whole of a small file. RESOURCE_EXHAUSTED above `bytes_max`.
absl::StatusOr<std::string> ReadWhole(const std::string& path, uint64_t bytes_max);

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_INPUT_FILE_H_
