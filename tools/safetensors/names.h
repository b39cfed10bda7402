// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Names from strangers: how they are shown, and which may become files.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_NAMES_H_
#define TENSORHUB_TOOLS_SAFETENSORS_NAMES_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tensorhub::safetensors {

// In quotes, escaped and cut, so that any message stays one line.
std::string Shown(std::string_view name);

// A status' message as a std::string.
std::string Text(const absl::Status& status);

// What is wrong with `name` as the name of a file in the directory at hand, or nothing. Rules out
// everything that could lead elsewhere: separators, "..", hidden files, control characters.
std::optional<std::string> FileNameProblem(std::string_view name);

// The same for a path below the directory at hand, "transformer/config.json": plain names, joined
// by single slashes, a few levels deep.
std::optional<std::string> FilePathProblem(std::string_view path);

// What is before the last name of such a path, with its slash: "transformer/"; or nothing.
std::string_view FolderOf(std::string_view path);

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_NAMES_H_
