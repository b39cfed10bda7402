// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint on disk: one safetensors file, a Hugging Face directory (model_folder.h), or several
// of these together. Opening reads and checks every header; the tensors are read when asked for. No
// file stays open; one that is written to between opening and the end of reading is refused.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_CHECKPOINT_H_
#define TENSORHUB_TOOLS_SAFETENSORS_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/safetensors/attachment.h"
#include "tools/safetensors/input_file.h"

namespace tensorhub::safetensors {

class Checkpoint {
 public:
  // Called with the bytes read so far; an error ends the load.
  using Progress = std::function<absl::Status(uint64_t)>;

  struct Options {
    // The small files of a directory travel along: configuration, tokenizer, and the like.
    bool companions = true;
  };

  // NOT_FOUND, INVALID_ARGUMENT or DATA_LOSS: one line that names the file, the tensor if it is
  // one, and what is wrong.
  static absl::StatusOr<Checkpoint> Open(const std::vector<std::string>& paths, Options options);
  static absl::StatusOr<Checkpoint> Open(const std::vector<std::string>& paths) {
    return Open(paths, Options());
  }

  // Names and headers of the files, the index and the companions; what Encode() takes.
  const Attachment& contents() const { return contents_; }
  // Companions that are too large to travel.
  const std::vector<std::string>& left_out() const { return left_out_; }

  // The data of all files, one after the other, into `memory` of contents().data_bytes().
  absl::Status Load(std::byte* memory, const Progress& progress = nullptr) const;

  // One tensor of contents().files[file].
  absl::Status LoadTensor(size_t file, const TensorEntry& tensor, std::byte* memory) const;

 private:
  Checkpoint() = default;
  struct Source {
    std::string path;
    FileState state;  // when its header was read
  };
  absl::Status AddPath(const std::string& path, Options options);
  absl::Status AddDirectory(const std::string& directory, Options options);
  absl::Status AddIndexed(const std::string& directory, const std::string& index);
  absl::Status CheckIndex(const std::string& path, const std::string& folder,
                          const std::map<std::string, std::string>& index, size_t first_file) const;
  // `name` is what it is called where it is fetched.
  absl::Status AddFile(const std::string& path, const std::string& name);
  absl::Status AddCompanions(const std::string& directory, const std::vector<std::string>& names);
  absl::Status CheckDistinct() const;
  absl::Status CheckLayout() const;

  Attachment contents_;
  std::vector<Source> sources_;  // one per contents_.files
  std::vector<std::string> left_out_;
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
