// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/index.h"

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/safetensors/names.h"
#include "tools/safetensors/strict_json.h"

namespace tensorhub::safetensors {
namespace {

absl::Status Bad(std::string_view name, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(name), ": ", why));
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ParseIndex(std::string_view name,
                                                              std::string_view text) {
  const absl::StatusOr<nlohmann::json> index = ParseStrictJson(text);
  if (!index.ok()) return Bad(name, absl::StrCat("the index ", Text(index.status())));
  const auto weights = index->is_object() ? index->find("weight_map") : index->end();
  if (!index->is_object() || weights == index->end() || !weights->is_object()) {
    return Bad(name, "the index has no object \"weight_map\"");
  }
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : weights->items()) {
    if (!file.is_string()) {
      return Bad(name, absl::StrCat("tensor ", Shown(tensor), " is given no file name"));
    }
    const std::string file_name = file.get<std::string>();
    if (auto problem = FilePathProblem(file_name)) {
      return Bad(name, absl::StrCat("tensor ", Shown(tensor), " is placed in ", Shown(file_name),
                                    ", which ", *problem));
    }
    files[tensor] = file_name;
  }
  return files;
}

}  // namespace tensorhub::safetensors
