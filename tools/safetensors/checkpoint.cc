// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/layout.h"
#include "common/limits.h"
#include "tools/safetensors/index.h"
#include "tools/safetensors/model_folder.h"
#include "tools/safetensors/names.h"
#include "tools/safetensors/parallel_read.h"

namespace tensorhub::safetensors {
namespace {

namespace fs = std::filesystem;

// What an attachment takes beside names and contents.
constexpr uint64_t kEntryBytes = 16;

absl::StatusOr<Header> ReadHeader(const InputFile& file) {
  std::string raw(std::min(file.bytes(), kLengthBytes), '\0');
  if (absl::Status status = file.ReadAt(0, raw.data(), raw.size()); !status.ok()) return status;
  const absl::StatusOr<uint64_t> length = ParseHeaderLength(file.path(), raw, file.bytes());
  if (!length.ok()) return length.status();
  raw.resize(kLengthBytes + *length);
  absl::Status status = file.ReadAt(kLengthBytes, raw.data() + kLengthBytes, *length);
  if (!status.ok()) return status;
  return ParseHeader(file.path(), std::move(raw));
}

absl::Status CheckSize(const InputFile& file, const Header& header) {
  const uint64_t held = file.bytes() - header.raw.size();
  if (held == header.data_bytes) return absl::OkStatus();
  if (held > header.data_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": has ", held - header.data_bytes,
                                                   " bytes after its last tensor"));
  }
  const auto cut = std::find_if(header.tensors.begin(), header.tensors.end(),
                                [&](const auto& t) { return t.offset + t.bytes > held; });
  return absl::DataLossError(absl::StrCat(
      file.path(), ": is truncated: tensor ", Shown(cut->spec.name), " ends at byte ",
      cut->offset + cut->bytes, " of the data, which has ", held, " bytes; get the whole file"));
}

uint64_t EncodedBytes(const Attachment& attachment) {
  uint64_t bytes = kEntryBytes;
  for (const SplitFile& file : attachment.files) {
    bytes += file.name.size() + file.header.raw.size() + kEntryBytes;
  }
  for (const ExtraFile& file : attachment.extras) {
    bytes += file.name.size() + file.content.size() + kEntryBytes;
  }
  return bytes;
}

}  // namespace

absl::StatusOr<Checkpoint> Checkpoint::Open(const std::vector<std::string>& paths,
                                            Options options) {
  Checkpoint checkpoint;
  for (const std::string& path : paths) {
    if (absl::Status status = checkpoint.AddPath(path, options); !status.ok()) return status;
  }
  TellTensorsApart(checkpoint.contents_);
  if (absl::Status status = checkpoint.CheckDistinct(); !status.ok()) return status;
  if (absl::Status status = checkpoint.CheckLayout(); !status.ok()) return status;
  return checkpoint;
}

absl::Status Checkpoint::AddPath(const std::string& path, Options options) {
  std::error_code error;
  if (fs::is_directory(path, error)) return AddDirectory(path, options);
  return AddFile(path, fs::path(path).filename().string());
}

absl::Status Checkpoint::AddDirectory(const std::string& directory, Options options) {
  const absl::StatusOr<ModelFolder> model = FindModel(directory);
  if (!model.ok()) return model.status();
  for (const WeightFiles& weights : model->weights) {
    if (!weights.index.empty()) {
      if (absl::Status status = AddIndexed(directory, weights.index); !status.ok()) return status;
    }
    for (const std::string& name : weights.files) {
      absl::Status status = AddFile(fs::path(directory) / name, name);
      if (!status.ok()) return status;
    }
  }
  return options.companions ? AddCompanions(directory, model->companions) : absl::OkStatus();
}

// `index` is relative to the directory, what it names to its own folder.
absl::Status Checkpoint::AddIndexed(const std::string& directory, const std::string& index) {
  const std::string path = fs::path(directory) / index;
  const std::string folder(FolderOf(index));
  absl::StatusOr<std::string> text = ReadWhole(path, kHeaderBytesMax);
  if (!text.ok()) return text.status();
  const auto places = ParseIndex(path, *text);
  if (!places.ok()) return places.status();
  std::set<std::string> names;
  for (const auto& [tensor, name] : *places) names.insert(name);
  const size_t first_file = contents_.files.size();
  for (const std::string& name : names) {
    const std::string shard = fs::path(directory) / (folder + name);
    std::error_code error;
    if (!fs::exists(shard, error)) {
      return absl::NotFoundError(absl::StrCat(path, ": names the missing shard ", Shown(name)));
    }
    if (absl::Status status = AddFile(shard, folder + name); !status.ok()) return status;
  }
  absl::Status status = CheckIndex(path, folder, *places, first_file);
  if (status.ok()) contents_.extras.push_back({index, std::move(*text)});
  return status;
}

absl::Status Checkpoint::CheckIndex(const std::string& path, const std::string& folder,
                                    const std::map<std::string, std::string>& index,
                                    size_t first_file) const {
  std::unordered_map<std::string, std::string> places;
  for (size_t i = first_file; i < contents_.files.size(); ++i) {
    for (const TensorEntry& tensor : contents_.files[i].header.tensors) {
      places.emplace(tensor.spec.name, contents_.files[i].name);
    }
  }
  for (const auto& [tensor, name] : index) {
    const auto place = places.find(tensor);
    if (place != places.end() && place->second == folder + name) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ": tensor ", Shown(tensor), " is not in ",
                                                   Shown(name), ", where the index puts it"));
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::AddFile(const std::string& path, const std::string& name) {
  absl::StatusOr<InputFile> file = InputFile::Open(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<Header> header = ReadHeader(*file);
  if (!header.ok()) return header.status();
  if (absl::Status status = CheckSize(*file, *header); !status.ok()) return status;
  if (auto problem = FilePathProblem(name)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the file's name ", *problem));
  }
  contents_.files.push_back({name, std::move(*header)});
  sources_.push_back({path, file->state()});
  return absl::OkStatus();
}

// The smallest first: whatever has to stay behind, the configuration does not.
absl::Status Checkpoint::AddCompanions(const std::string& directory,
                                       const std::vector<std::string>& names) {
  std::multimap<uint64_t, std::string> by_size;
  for (const std::string& name : names) {
    std::error_code error;
    const uint64_t bytes = fs::file_size(fs::path(directory) / name, error);
    by_size.emplace(error ? 0 : bytes, name);
  }
  uint64_t taken = EncodedBytes(contents_);
  for (const auto& [bytes, name] : by_size) {
    if (FilePathProblem(name) || taken + bytes + name.size() + kEntryBytes > kAttachmentBytesMax) {
      left_out_.push_back(name);
      continue;
    }
    absl::StatusOr<std::string> content =
        ReadWhole(fs::path(directory) / name, kAttachmentBytesMax);
    if (!content.ok()) return content.status();
    taken += content->size() + name.size() + kEntryBytes;
    contents_.extras.push_back({name, *std::move(content)});
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::CheckDistinct() const {
  std::set<std::string> names;
  for (const ExtraFile& file : contents_.extras) {
    if (!names.insert(file.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two paths have a file ", Shown(file.name),
                       "; publish weights only (--weights-only), or one path"));
    }
  }
  std::unordered_map<std::string, size_t> tensors;
  for (size_t i = 0; i < contents_.files.size(); ++i) {
    if (!names.insert(contents_.files[i].name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(sources_[i].path, ": another file has the same name"));
    }
    for (const TensorEntry& tensor : contents_.files[i].header.tensors) {
      const auto [other, added] = tensors.emplace(tensor.spec.name, i);
      if (added) continue;
      return absl::InvalidArgumentError(absl::StrCat(sources_[i].path, ": tensor ",
                                                     Shown(tensor.spec.name), " is also in ",
                                                     sources_[other->second].path));
    }
  }
  return absl::OkStatus();
}

// What a version cannot have, before anything is loaded.
absl::Status Checkpoint::CheckLayout() const {
  std::vector<TensorSpec> all;
  for (size_t i = 0; i < sources_.size(); ++i) {
    std::vector<TensorSpec> specs;
    for (const TensorEntry& tensor : contents_.files[i].header.tensors) {
      specs.push_back(tensor.spec);
    }
    all.insert(all.end(), specs.begin(), specs.end());
    const absl::Status status = Layout::Make(specs).status();
    if (status.ok()) continue;
    return absl::Status(status.code(), absl::StrCat(sources_[i].path, ": ", Text(status)));
  }
  return Layout::Make(all).status();
}

absl::Status Checkpoint::Load(std::byte* memory, const Progress& progress) const {
  std::vector<FileRange> ranges;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Header& header = contents_.files[i].header;
    ranges.push_back(
        {&sources_[i].path, &sources_[i].state, header.raw.size(), header.data_bytes, memory});
    if (memory != nullptr) memory += header.data_bytes;
  }
  absl::Status status = ReadRanges(ranges, progress);
  // All are looked at once more: one may have changed after its last piece.
  for (size_t i = 0; i < sources_.size() && status.ok(); ++i) {
    const absl::StatusOr<InputFile> file = InputFile::Open(sources_[i].path);
    status = file.ok() ? file->CheckStill(sources_[i].state) : file.status();
  }
  return status;
}

absl::Status Checkpoint::LoadTensor(size_t file, const TensorEntry& tensor,
                                    std::byte* memory) const {
  const uint64_t start = contents_.files[file].header.raw.size();
  const Source& source = sources_[file];
  return ReadRanges({{&source.path, &source.state, start + tensor.offset, tensor.bytes, memory}},
                    nullptr);
}

std::vector<PlacedTensor> Place(const Attachment& attachment, std::byte* memory) {
  std::vector<PlacedTensor> tensors;
  for (const SplitFile& file : attachment.files) {
    for (const TensorEntry& tensor : file.header.tensors) {
      // An address only where there are bytes: beside the end of the memory there are none.
      std::byte* const data = tensor.bytes == 0 ? nullptr : memory + tensor.offset;
      tensors.push_back({&tensor.spec, data, tensor.bytes});
    }
    if (memory != nullptr) memory += file.header.data_bytes;
  }
  return tensors;
}

}  // namespace tensorhub::safetensors
