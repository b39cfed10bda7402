// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A Hugging Face index, such as `model.safetensors.index.json`: which tensor is in which shard.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_INDEX_H_
#define TENSORHUB_TOOLS_SAFETENSORS_INDEX_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tensorhub::safetensors {

inline constexpr std::string_view kIndexSuffix = ".safetensors.index.json";

// Tensor name to file, in the index' folder or below. INVALID_ARGUMENT names `name` (the index) and
// the entry.
absl::StatusOr<std::map<std::string, std::string>> ParseIndex(std::string_view name,
                                                              std::string_view text);

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_INDEX_H_
