// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/attachment.h"

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/boxes.h"
#include "common/bytes.h"
#include "common/limits.h"
#include "tools/safetensors/names.h"

namespace tensorhub::safetensors {
namespace {

constexpr std::string_view kMagic = "THSA";
constexpr uint32_t kFormat = 1;

void PutSized(ByteWriter& writer, std::string_view bytes) {
  writer.Put(static_cast<uint32_t>(bytes.size()));
  writer.PutBytes(bytes);
}

std::string TakeSized(ByteReader& reader) {
  return std::string(reader.TakeBytes(reader.Take<uint32_t>()));
}

absl::Status Bad(const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("the version's attachment ", why));
}

// Calls add(name, content) for each entry of a counted list.
template <typename Add>
absl::Status ReadList(ByteReader& reader, const Add& add) {
  const auto count = reader.Take<uint32_t>();
  if (!reader.ok()) return Bad("is cut off");
  for (uint32_t i = 0; i < count; ++i) {
    std::string name = TakeSized(reader);
    std::string content = TakeSized(reader);
    if (!reader.ok()) return Bad("is cut off");
    if (absl::Status status = add(std::move(name), std::move(content)); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNames(const Attachment& attachment) {
  std::set<std::string> seen;
  std::set<std::string> folders;
  const auto check = [&](const std::string& name) {
    if (auto problem = FilePathProblem(name)) {
      return Bad(absl::StrCat("names a file ", Shown(name), " that ", *problem));
    }
    if (!seen.insert(name).second)
      return Bad(absl::StrCat("names the file ", Shown(name), " twice"));
    for (std::string_view folder = FolderOf(name); !folder.empty();) {
      folder.remove_suffix(1);
      folders.emplace(folder);
      folder = FolderOf(folder);
    }
    return absl::OkStatus();
  };
  for (const SplitFile& file : attachment.files) {
    if (absl::Status status = check(file.name); !status.ok()) return status;
  }
  for (const ExtraFile& file : attachment.extras) {
    if (absl::Status status = check(file.name); !status.ok()) return status;
  }
  for (const std::string& folder : folders) {
    if (seen.contains(folder)) {
      return Bad(absl::StrCat("has ", Shown(folder), " both as a file and as a folder"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTensors(const Attachment& attachment) {
  std::unordered_set<std::string> seen;
  uint64_t bytes = 0;
  for (const SplitFile& file : attachment.files) {
    if (__builtin_add_overflow(bytes, file.header.data_bytes, &bytes)) {
      return Bad("describes files of more than 2^64 bytes together");
    }
    for (const TensorEntry& tensor : file.header.tensors) {
      if (seen.insert(tensor.spec.name).second) continue;
      return Bad(absl::StrCat("has the tensor ", Shown(tensor.spec.name), " in two files"));
    }
  }
  return absl::OkStatus();
}

std::string Prefixed(const std::string& name, size_t rank, size_t world_size) {
  const std::string folder(FolderOf(name));
  return absl::StrFormat("%srank-%05d-of-%05d-%s", folder, rank + 1, world_size,
                         name.substr(folder.size()));
}

}  // namespace

uint64_t Attachment::data_bytes() const {
  return std::accumulate(
      files.begin(), files.end(), uint64_t{0},
      [](uint64_t sum, const SplitFile& file) { return sum + file.header.data_bytes; });
}

size_t Attachment::tensor_count() const {
  return std::accumulate(
      files.begin(), files.end(), size_t{0},
      [](size_t sum, const SplitFile& file) { return sum + file.header.tensors.size(); });
}

void TellTensorsApart(Attachment& attachment) {
  std::unordered_map<std::string_view, std::string_view> folders;
  bool apart = true;
  for (const SplitFile& file : attachment.files) {
    for (const TensorEntry& tensor : file.header.tensors) {
      const auto [other, added] = folders.emplace(tensor.spec.name, FolderOf(file.name));
      apart = apart && (added || other->second == FolderOf(file.name));
    }
  }
  if (apart) return;
  for (SplitFile& file : attachment.files) {
    for (TensorEntry& tensor : file.header.tensors) {
      tensor.spec.name.insert(0, FolderOf(file.name));
    }
  }
}

absl::StatusOr<std::string> Encode(const Attachment& attachment) {
  std::string out(kMagic);
  ByteWriter writer(out);
  writer.Put(kFormat);
  writer.Put(static_cast<uint32_t>(attachment.files.size()));
  for (const SplitFile& file : attachment.files) {
    PutSized(writer, file.name);
    PutSized(writer, file.header.raw);
  }
  writer.Put(static_cast<uint32_t>(attachment.extras.size()));
  for (const ExtraFile& file : attachment.extras) {
    PutSized(writer, file.name);
    PutSized(writer, file.content);
  }
  if (out.size() <= kAttachmentBytesMax) return out;
  return absl::ResourceExhaustedError(absl::StrCat("the files' headers take ", out.size(),
                                                   " bytes, more than the ", kAttachmentBytesMax,
                                                   " that can travel with a version"));
}

bool IsEncoded(std::string_view content) { return content.starts_with(kMagic); }

absl::StatusOr<Attachment> Decode(std::string_view encoded) {
  ByteReader reader(encoded);
  if (reader.TakeBytes(kMagic.size()) != kMagic) return Bad("was not written by tensorhubctl");
  if (reader.Take<uint32_t>() != kFormat) {
    return Bad("has an unknown format; use a newer tensorhubctl");
  }
  Attachment attachment;
  absl::Status status = ReadList(reader, [&](std::string name, std::string raw) -> absl::Status {
    absl::StatusOr<Header> header = ParseHeader(Shown(name), std::move(raw));
    if (!header.ok()) return header.status();
    attachment.files.push_back({std::move(name), std::move(*header)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  status = ReadList(reader, [&](std::string name, std::string content) {
    attachment.extras.push_back({std::move(name), std::move(content)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (reader.left() != 0) return Bad("goes on after its end");
  if (status = CheckNames(attachment); !status.ok()) return status;
  TellTensorsApart(attachment);
  if (status = CheckTensors(attachment); !status.ok()) return status;
  return attachment;
}

namespace {

std::string BoxOf(const TensorSpec& piece) {
  std::vector<Interval> box;
  for (size_t i = 0; i < piece.shape.size(); ++i) {
    const uint64_t begin = piece.slice->offset[i];
    box.push_back({begin, begin + piece.shape[i]});
  }
  return ShowBox(box);
}

// A file has a name once: pieces of one tensor are called after their place as well.
std::vector<TensorSpec> NamedApart(std::vector<TensorSpec> specs) {
  std::map<std::string, int> count;
  for (const TensorSpec& spec : specs) ++count[spec.name];
  for (TensorSpec& spec : specs) {
    if (count[spec.name] > 1) spec.name += BoxOf(spec);
  }
  return specs;
}

// Where pieces belong, for who puts them together; safetensors has no word for that.
std::map<std::string, std::string> MetadataOf(const std::vector<TensorSpec>& specs) {
  nlohmann::json slices = nlohmann::json::object();
  for (const TensorSpec& spec : specs) {
    if (!spec.slice) continue;
    slices[spec.name] = {{"global_shape", spec.slice->global_shape},
                         {"offset", spec.slice->offset}};
  }
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  if (!slices.empty()) metadata["tensorhub.slices"] = slices.dump(-1, ' ', false, kReplace);
  return metadata;
}

}  // namespace

absl::StatusOr<Attachment> FromLayout(const Layout& layout, uint32_t rank, uint32_t world_size) {
  std::vector<TensorSpec> specs;
  for (const Layout::Entry& entry : layout.entries()) {
    if (!IsAlias(entry)) specs.push_back(entry.spec());
  }
  const std::vector<TensorSpec> in_file = NamedApart(specs);
  absl::StatusOr<Header> header = MakeHeader(in_file, MetadataOf(in_file));
  if (!header.ok()) return header.status();
  // Tensors are registered as the layout has them, whatever the file calls them.
  for (size_t i = 0; i < specs.size(); ++i) header->tensors[i].spec = std::move(specs[i]);
  const std::string name = world_size == 1 ? "model.safetensors"
                                           : absl::StrFormat("model-rank-%05d-of-%05d.safetensors",
                                                             rank + 1, world_size);
  Attachment attachment;
  attachment.files.push_back({name, std::move(*header)});
  return attachment;
}

absl::Status CheckFits(const Attachment& attachment, const Layout& layout) {
  std::map<std::string_view, const TensorSpec*> specs;
  for (const SplitFile& file : attachment.files) {
    for (const TensorEntry& tensor : file.header.tensors) {
      specs[tensor.spec.name] = &tensor.spec;
    }
  }
  for (const Layout::Entry& entry : layout.entries()) {
    const auto found = specs.find(entry.name);
    if (found == specs.end()) {
      return Bad(absl::StrCat("lacks the tensor ", Shown(entry.name)));
    }
    const TensorSpec spec = entry.spec();
    if (found->second->dtype != spec.dtype || found->second->shape != spec.shape) {
      return Bad(absl::StrCat("describes the tensor ", Shown(entry.name),
                              " with another dtype or shape than it has"));
    }
  }
  if (specs.size() != layout.entries().size()) return Bad("names tensors that the version lacks");
  return absl::OkStatus();
}

void MakeNamesDistinct(std::vector<Attachment>& ranks) {
  std::map<std::string, int> uses;
  std::map<std::string, std::set<std::string>> contents;  // of extras
  for (const Attachment& rank : ranks) {
    for (const SplitFile& file : rank.files) ++uses[file.name];
    for (const ExtraFile& file : rank.extras) contents[file.name].insert(file.content);
  }
  const auto clashes = [&](const std::string& name) {
    const auto extra = contents.find(name);
    const size_t variants = extra == contents.end() ? 0 : extra->second.size();
    const auto files = uses.find(name);
    return variants + static_cast<size_t>(files == uses.end() ? 0 : files->second) > 1;
  };
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (SplitFile& file : ranks[i].files) {
      if (clashes(file.name)) file.name = Prefixed(file.name, i, ranks.size());
    }
    for (ExtraFile& file : ranks[i].extras) {
      if (clashes(file.name)) file.name = Prefixed(file.name, i, ranks.size());
    }
  }
}

}  // namespace tensorhub::safetensors
