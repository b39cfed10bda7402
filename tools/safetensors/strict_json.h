// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// JSON from strangers (R9): bounded depth and size, and no key twice in an object, which the
// parser behind it would silently resolve in favour of one of them.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_STRICT_JSON_H_
#define TENSORHUB_TOOLS_SAFETENSORS_STRICT_JSON_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/status/statusor.h"

namespace tensorhub::safetensors {

struct JsonLimits {
  size_t depth_max = 8;
  // Objects, arrays, strings and numbers together: a hundred million brackets are a small file and
  // a large tree.
  size_t values_max = size_t{16} << 20;
};

// INVALID_ARGUMENT says what is wrong, without naming the file: callers know it.
absl::StatusOr<nlohmann::json> ParseStrictJson(std::string_view text,
                                               const JsonLimits& limits = {});

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_STRICT_JSON_H_
