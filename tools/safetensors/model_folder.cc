// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/safetensors/index.h"
#include "tools/safetensors/names.h"

namespace tensorhub::safetensors {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".safetensors";
constexpr std::string_view kPipelineName = "model_index.json";
// What a library loads if it is told a folder only, best first.
constexpr std::string_view kStems[] = {"model", "diffusion_pytorch_model", "adapter_model"};
constexpr std::string_view kCompanionEnds[] = {".json", ".txt", ".model", ".jinja",
                                               ".py",   ".md",  ".yaml",  ".yml",
                                               ".bpe",  ".spm", ".vocab", ".tiktoken"};
constexpr std::string_view kOtherWeightEnds[] = {".bin", ".pt", ".pth", ".ckpt"};

using Names = std::set<std::string>;

bool EndsWithAny(std::string_view name, const auto& ends) {
  return std::any_of(std::begin(ends), std::end(ends),
                     [&](std::string_view end) { return name.ends_with(end); });
}

// Links that lead nowhere are files, too: whoever opens them says so.
struct Listing {
  Names files;
  Names folders;
};

absl::StatusOr<Listing> List(const std::string& directory) {
  Listing listing;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    const fs::file_type type = it->status(ignored).type();
    if (name.front() == '.') continue;
    if (type == fs::file_type::directory) listing.folders.insert(name);
    if (type == fs::file_type::regular || type == fs::file_type::not_found) {
      listing.files.insert(name);
    }
  }
  if (!error) return listing;
  return absl::UnavailableError(absl::StrCat(directory, ": cannot be listed: ", error.message()));
}

bool IsWeights(const std::string& name) {
  return name.size() > kSuffix.size() && name.ends_with(kSuffix);
}

// Indexes are not: that of other weights would mislead.
bool IsCompanion(const std::string& name) {
  if (name.ends_with(".index.json")) return false;
  return EndsWithAny(name, kCompanionEnds) || absl::StartsWith(name, "LICENSE") ||
         absl::StartsWith(name, "NOTICE");
}

// STEM-00002-of-00003.safetensors
struct Numbered {
  std::string stem;
  uint32_t number = 0;
  uint32_t total = 0;
};

std::optional<uint32_t> TakeNumber(std::string_view& text) {
  size_t begin = text.size();
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  uint32_t number = 0;
  if (!absl::SimpleAtoi(std::string(text.substr(begin)), &number)) return std::nullopt;
  text = text.substr(0, begin);
  return number;
}

std::optional<Numbered> AsNumbered(const std::string& name) {
  std::string_view text = std::string_view(name).substr(0, name.size() - kSuffix.size());
  const std::optional<uint32_t> total = TakeNumber(text);
  if (!total || !text.ends_with("-of-")) return std::nullopt;
  text.remove_suffix(4);
  const std::optional<uint32_t> number = TakeNumber(text);
  if (!number || !text.ends_with('-')) return std::nullopt;
  return Numbered{std::string(text.substr(0, text.size() - 1)), *number, *total};
}

// One set of numbered shards, without an index that would tell what belongs together.
absl::Status CheckSet(const std::string& directory, const std::string& stem,
                      const std::map<uint32_t, std::set<uint32_t>>& numbers_of_total) {
  if (numbers_of_total.size() > 1) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: has no index, and %s shards of %d and of %d files; remove those of the older save",
        directory, Shown(stem), numbers_of_total.begin()->first,
        std::next(numbers_of_total.begin())->first));
  }
  const auto& [total, numbers] = *numbers_of_total.begin();
  const uint32_t first = numbers.contains(0) ? 0 : 1;
  for (uint32_t number = first; number < total + first && number - first <= numbers.size();
       ++number) {
    if (numbers.contains(number)) continue;
    return absl::NotFoundError(
        absl::StrFormat("%s: has no index, and the missing shard %s", directory,
                        Shown(absl::StrFormat("%s-%05d-of-%05d%s", stem, number, total, kSuffix))));
  }
  return absl::OkStatus();
}

absl::Status CheckSets(const std::string& directory, const std::vector<std::string>& names) {
  std::map<std::string, std::map<uint32_t, std::set<uint32_t>>> sets;
  for (const std::string& name : names) {
    if (const auto shard = AsNumbered(name)) sets[shard->stem][shard->total].insert(shard->number);
  }
  for (const auto& [stem, numbers] : sets) {
    if (absl::Status status = CheckSet(directory, stem, numbers); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Nothing at all if the folder has no weights.
absl::StatusOr<std::optional<WeightFiles>> SelectWeights(const std::string& directory,
                                                         const Names& names) {
  for (const std::string_view stem : kStems) {
    const std::string file = std::string(stem).append(kSuffix);
    const std::string index = std::string(stem).append(kIndexSuffix);
    if (names.contains(file)) return WeightFiles{.index = "", .files = {file}};
    if (names.contains(index)) return WeightFiles{.index = index, .files = {}};
  }
  std::vector<std::string> indexes;
  WeightFiles all;
  for (const std::string& name : names) {
    if (name.ends_with(kIndexSuffix)) indexes.push_back(name);
    if (IsWeights(name)) all.files.push_back(name);
  }
  if (indexes.size() == 1) return WeightFiles{.index = indexes.front(), .files = {}};
  if (indexes.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(directory, ": has several indexes (",
                                                   absl::StrJoin(indexes, ", "),
                                                   "); name the files of one model instead"));
  }
  if (all.files.empty()) return std::nullopt;
  if (absl::Status status = CheckSets(directory, all.files); !status.ok()) return status;
  return all;
}

std::vector<std::string> CompanionsIn(const Listing& listing) {
  std::vector<std::string> found;
  std::copy_if(listing.files.begin(), listing.files.end(), std::back_inserter(found), IsCompanion);
  return found;
}

void AddPrefix(const std::string& folder, std::vector<std::string>& names) {
  for (std::string& name : names) name.insert(0, folder);
}

// A folder of a pipeline: a model, or a tokenizer, a scheduler.
absl::Status AddPart(const std::string& directory, const std::string& name, ModelFolder& model) {
  const std::string path = fs::path(directory) / name;
  const absl::StatusOr<Listing> listing = List(path);
  if (!listing.ok()) return listing.status();
  absl::StatusOr<std::optional<WeightFiles>> weights = SelectWeights(path, listing->files);
  if (!weights.ok()) return weights.status();
  if (weights->has_value()) {
    if (!(*weights)->index.empty()) (*weights)->index.insert(0, name + "/");
    AddPrefix(name + "/", (*weights)->files);
    model.weights.push_back(**std::move(weights));
  } else {
    for (const std::string& file : listing->files) {
      if (!EndsWithAny(file, kOtherWeightEnds)) continue;
      return absl::InvalidArgumentError(absl::StrCat(path, ": has its weights in ", Shown(file),
                                                     " and in no *.safetensors; convert them"));
    }
  }
  std::vector<std::string> companions = CompanionsIn(*listing);
  AddPrefix(name + "/", companions);
  model.companions.insert(model.companions.end(), companions.begin(), companions.end());
  return absl::OkStatus();
}

absl::Status NoWeights(const std::string& directory, const Listing& listing) {
  std::vector<std::string> folders;
  for (const std::string& name : listing.folders) {
    const absl::StatusOr<Listing> inside = List(fs::path(directory) / name);
    if (inside.ok() && std::any_of(inside->files.begin(), inside->files.end(), IsWeights)) {
      folders.push_back(name);
    }
    if (folders.size() == 3) break;
  }
  return absl::NotFoundError(absl::StrCat(
      directory, ": holds no *.safetensors file",
      folders.empty()
          ? ""
          : absl::StrCat("; folders in it do, name one: ", absl::StrJoin(folders, ", "))));
}

}  // namespace

absl::StatusOr<ModelFolder> FindModel(const std::string& directory) {
  const absl::StatusOr<Listing> listing = List(directory);
  if (!listing.ok()) return listing.status();
  absl::StatusOr<std::optional<WeightFiles>> weights = SelectWeights(directory, listing->files);
  if (!weights.ok()) return weights.status();
  ModelFolder model{.weights = {}, .companions = CompanionsIn(*listing)};
  if (weights->has_value()) {
    model.weights.push_back(**std::move(weights));
    return model;
  }
  if (listing->files.contains(std::string(kPipelineName))) {
    for (const std::string& name : listing->folders) {
      if (absl::Status status = AddPart(directory, name, model); !status.ok()) return status;
    }
  }
  if (model.weights.empty()) return NoWeights(directory, *listing);
  return model;
}

}  // namespace tensorhub::safetensors
