// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint on disk: one safetensors file, a Hugging Face directory (`model.safetensors`, or an
// index with its shards, or any `*.safetensors`), or several of these together. Opening reads and
// checks every header; the tensors are read when asked for.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_CHECKPOINT_H_
#define TENSORHUB_TOOLS_SAFETENSORS_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/safetensors/attachment.h"
#include "tools/safetensors/input_file.h"

namespace tensorhub::safetensors {

class Checkpoint {
 public:
  // Called with the bytes read so far.
  using Progress = std::function<void(uint64_t)>;

  // NOT_FOUND, INVALID_ARGUMENT or DATA_LOSS: one line that names the file, the tensor if it is
  // one, and what is wrong.
  static absl::StatusOr<Checkpoint> Open(const std::vector<std::string>& paths);

  // Names and headers of the files, and the index; what Encode() takes.
  const Attachment& contents() const { return contents_; }

  // The data of all files, one after the other, into `memory` of contents().data_bytes().
  absl::Status Load(std::byte* memory, const Progress& progress = nullptr) const;

  // One tensor of contents().files[file].
  absl::Status LoadTensor(size_t file, const TensorEntry& tensor, std::byte* memory) const;

 private:
  Checkpoint() = default;
  absl::Status AddPath(const std::string& path);
  absl::Status AddDirectory(const std::string& path);
  absl::Status AddIndexed(const std::string& directory);
  absl::Status AddFile(const std::string& path);
  absl::Status CheckDistinct() const;
  absl::Status LoadFile(size_t file, std::byte* memory, uint64_t done,
                        const Progress& progress) const;

  Attachment contents_;
  std::vector<InputFile> inputs_;  // one per contents_.files
};

// A tensor in memory that holds the data of all of an attachment's files one after the other.
struct PlacedTensor {
  const TensorSpec* spec = nullptr;
  std::byte* data = nullptr;
  uint64_t bytes = 0;
};
std::vector<PlacedTensor> Place(const Attachment& attachment, std::byte* memory);

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_CHECKPOINT_H_
