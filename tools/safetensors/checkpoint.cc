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
#include "tools/safetensors/index.h"
#include "tools/safetensors/names.h"

namespace tensorhub::safetensors {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadBytes = size_t{8} << 20;
constexpr std::string_view kSingleName = "model.safetensors";
constexpr std::string_view kSuffix = ".safetensors";

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

absl::StatusOr<std::vector<std::string>> SafetensorsIn(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) paths.push_back(it->path());
  }
  if (error) {
    return absl::UnavailableError(absl::StrCat(directory, ": cannot be listed: ", error.message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

absl::StatusOr<Checkpoint> Checkpoint::Open(const std::vector<std::string>& paths) {
  Checkpoint checkpoint;
  for (const std::string& path : paths) {
    if (absl::Status status = checkpoint.AddPath(path); !status.ok()) return status;
  }
  if (absl::Status status = checkpoint.CheckDistinct(); !status.ok()) return status;
  return checkpoint;
}

absl::Status Checkpoint::AddPath(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return AddDirectory(path);
  return AddFile(path);
}

// The order is that of the transformers library: the single file goes before the index.
absl::Status Checkpoint::AddDirectory(const std::string& path) {
  const fs::path directory(path);
  std::error_code error;
  if (fs::exists(directory / kSingleName, error)) return AddFile(directory / kSingleName);
  if (fs::exists(directory / kIndexName, error)) return AddIndexed(path);
  const absl::StatusOr<std::vector<std::string>> files = SafetensorsIn(path);
  if (!files.ok()) return files.status();
  if (files->empty()) {
    return absl::NotFoundError(absl::StrCat(path, ": holds no *.safetensors file"));
  }
  for (const std::string& file : *files) {
    if (absl::Status status = AddFile(file); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::AddIndexed(const std::string& directory) {
  const std::string path = fs::path(directory) / kIndexName;
  absl::StatusOr<std::string> text = ReadWhole(path, kHeaderBytesMax);
  if (!text.ok()) return text.status();
  const auto index = ParseIndex(path, *text);
  if (!index.ok()) return index.status();
  std::set<std::string> names;
  for (const auto& [tensor, name] : *index) names.insert(name);
  std::unordered_map<std::string, std::string> places;
  for (const std::string& name : names) {
    const std::string shard = fs::path(directory) / name;
    std::error_code error;
    if (!fs::exists(shard, error)) {
      return absl::NotFoundError(absl::StrCat(path, ": names the missing shard ", Shown(name)));
    }
    if (absl::Status status = AddFile(shard); !status.ok()) return status;
    for (const auto& tensor : contents_.files.back().header.tensors) {
      places.emplace(tensor.spec.name, name);
    }
  }
  for (const auto& [tensor, name] : *index) {
    const auto place = places.find(tensor);
    if (place != places.end() && place->second == name) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ": tensor ", Shown(tensor), " is not in ",
                                                   Shown(name), ", where the index puts it"));
  }
  contents_.extras.push_back({std::string(kIndexName), std::move(*text)});
  return absl::OkStatus();
}

absl::Status Checkpoint::AddFile(const std::string& path) {
  absl::StatusOr<InputFile> file = InputFile::Open(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<Header> header = ReadHeader(*file);
  if (!header.ok()) return header.status();
  if (absl::Status status = CheckSize(*file, *header); !status.ok()) return status;
  const std::string name = fs::path(path).filename().string();
  if (auto problem = FileNameProblem(name)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the file's name ", *problem));
  }
  contents_.files.push_back({name, std::move(*header)});
  inputs_.push_back(std::move(*file));
  return absl::OkStatus();
}

absl::Status Checkpoint::CheckDistinct() const {
  std::set<std::string> names;
  for (const ExtraFile& file : contents_.extras) {
    if (!names.insert(file.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("two paths have a file ", Shown(file.name)));
    }
  }
  std::unordered_map<std::string, size_t> tensors;
  for (size_t i = 0; i < contents_.files.size(); ++i) {
    if (!names.insert(contents_.files[i].name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(inputs_[i].path(), ": another file has the same name"));
    }
    for (const TensorEntry& tensor : contents_.files[i].header.tensors) {
      const auto [other, added] = tensors.emplace(tensor.spec.name, i);
      if (added) continue;
      return absl::InvalidArgumentError(absl::StrCat(inputs_[i].path(), ": tensor ",
                                                     Shown(tensor.spec.name), " is also in ",
                                                     inputs_[other->second].path()));
    }
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::Load(std::byte* memory, const Progress& progress) const {
  uint64_t done = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (absl::Status status = LoadFile(i, memory + done, done, progress); !status.ok()) {
      return status;
    }
    done += contents_.files[i].header.data_bytes;
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::LoadFile(size_t file, std::byte* memory, uint64_t done,
                                  const Progress& progress) const {
  const Header& header = contents_.files[file].header;
  for (uint64_t at = 0; at < header.data_bytes;) {
    const size_t count = std::min<uint64_t>(kReadBytes, header.data_bytes - at);
    absl::Status status = inputs_[file].ReadAt(header.raw.size() + at, memory + at, count);
    if (!status.ok()) return status;
    at += count;
    if (progress) progress(done + at);
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::LoadTensor(size_t file, const TensorEntry& tensor,
                                    std::byte* memory) const {
  const uint64_t start = contents_.files[file].header.raw.size();
  return inputs_[file].ReadAt(start + tensor.offset, memory, tensor.bytes);
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
