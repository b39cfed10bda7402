// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/names.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tensorhub::safetensors {
namespace {

constexpr size_t kShownBytesMax = 200;
constexpr size_t kFileNameBytesMax = 255;  // what Linux file systems take
constexpr std::ptrdiff_t kDepthMax = 8;

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string Shown(std::string_view name) {
  const std::string cut = absl::Utf8SafeCEscape(std::string(name.substr(0, kShownBytesMax)));
  return absl::StrCat("\"", cut, name.size() > kShownBytesMax ? "...\"" : "\"");
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

std::optional<std::string> FileNameProblem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kFileNameBytesMax) return "is longer than 255 bytes";
  if (name.find('/') != name.npos || name.find('\\') != name.npos) {
    return "is not a plain file name (it contains a path separator)";
  }
  if (name.front() == '.') return "is not a plain file name (it begins with a dot)";
  if (std::any_of(name.begin(), name.end(), IsControl)) return "contains control characters";
  return std::nullopt;
}

std::optional<std::string> FilePathProblem(std::string_view path) {
  if (std::count(path.begin(), path.end(), '/') >= kDepthMax) return "is too deep in folders";
  for (;;) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (auto problem = FileNameProblem(name)) return problem;
    if (name.size() == path.size()) return std::nullopt;
    path.remove_prefix(name.size() + 1);
  }
}

std::string_view FolderOf(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

}  // namespace tensorhub::safetensors
