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

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_NAMES_H_
