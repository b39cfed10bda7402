// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What travels with a published checkpoint beside its tensors, so that fetching it writes the same
// files again, bit for bit: each file's name and raw header, and other small files (the index,
// configuration, tokenizer) whole. Opaque to the hub; encoded little endian as
//
//   "THSA" u32 1   u32 files  { u32 name bytes  name  u32 header bytes  header }
//                  u32 extras { u32 name bytes  name  u32 content bytes  content }
//
// Everything decoded is checked (R9): it comes from another user, and its names become files here.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_ATTACHMENT_H_
#define TENSORHUB_TOOLS_SAFETENSORS_ATTACHMENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/layout.h"
#include "tools/safetensors/header.h"

namespace tensorhub::safetensors {

struct SplitFile {
  std::string name;
  Header header;
};

struct ExtraFile {
  std::string name;
  std::string content;
};

// One shard as files. File and extra names are distinct, plain ones or paths of such; no tensor is
// in two files.
struct Attachment {
  std::vector<SplitFile> files;
  std::vector<ExtraFile> extras;

  uint64_t data_bytes() const;
  size_t tensor_count() const;
};

// The models of a pipeline may use the same names. If files of two folders do, the tensors of all
// that are in folders are called FOLDER/NAME from now on. Decode does it; not to be done twice.
void TellTensorsApart(Attachment& attachment);

// RESOURCE_EXHAUSTED if that is more than an attachment may take.
absl::StatusOr<std::string> Encode(const Attachment& attachment);

// Whether Encode wrote it, by how it starts: programs attach bytes of their own to what they
// publish.
bool IsEncoded(std::string_view content);

// INVALID_ARGUMENT for anything that Encode would not have written.
absl::StatusOr<Attachment> Decode(std::string_view encoded);

// For a shard that was published without one of ours: `model.safetensors`, or in a group of several
// `model-rank-00001-of-0000N.safetensors`. Slices are told in its metadata `tensorhub.slices`, by
// the name in the file; several of one tensor are called after their place, `w[0:4, 0:8]`. Other
// names of tied tensors are left out, as files of Hugging Face do.
absl::StatusOr<Attachment> FromLayout(const Layout& layout, uint32_t rank, uint32_t world_size);

// INVALID_ARGUMENT unless both name the same tensors with the same dtypes and shapes.
absl::Status CheckFits(const Attachment& attachment, const Layout& layout);

// Ranks that used the same file name for different files (each published its own
// `model.safetensors`) would overwrite one another: such files get a prefix with their rank.
void MakeNamesDistinct(std::vector<Attachment>& ranks);

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_ATTACHMENT_H_
