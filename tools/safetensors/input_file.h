// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One open file read at offsets. Not mapped: a mapped file that another process truncates kills
// its reader, a read merely fails.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_INPUT_FILE_H_
#define TENSORHUB_TOOLS_SAFETENSORS_INPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tensorhub::safetensors {

// Which file it is, and as what it was written last.
struct FileState {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t bytes = 0;
  timespec changed = {};  // its content

  bool operator==(const FileState& other) const;
};

class InputFile {
 public:
  // NOT_FOUND, PERMISSION_DENIED or INVALID_ARGUMENT (no regular file), naming the path.
  static absl::StatusOr<InputFile> Open(const std::string& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  uint64_t bytes() const { return state_.bytes; }
  // When it was opened.
  const FileState& state() const { return state_; }

  // DATA_LOSS unless the file, open as it is, still is as `state` says: what was read meanwhile
  // may be of two contents.
  absl::Status CheckStill(const FileState& state) const;

  // Exactly `count` bytes from `offset`. DATA_LOSS if the file ends before them.
  absl::Status ReadAt(uint64_t offset, void* out, size_t count) const;

 private:
  InputFile(std::string path, int fd, const FileState& state);

  std::string path_;
  int fd_;
  FileState state_;
};

// The whole of a small file. RESOURCE_EXHAUSTED above `bytes_max`; DATA_LOSS if it changes
// meanwhile.
absl::StatusOr<std::string> ReadWhole(const std::string& path, uint64_t bytes_max);

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_INPUT_FILE_H_
