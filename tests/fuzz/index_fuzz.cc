// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A Hugging Face index: no file that it names lies outside the index's directory.

#include <string_view>

#include "absl/strings/str_split.h"
#include "common/check.h"
#include "tests/fuzz/fuzz.h"
#include "tools/safetensors/index.h"

namespace tensorhub::fuzz {

std::vector<std::string> Seeds() {
  return {R"({"weight_map":{"a":"model-00001-of-00002.safetensors","b":"x.safetensors"}})",
          R"({"metadata":{"total_size":12},"weight_map":{}})",
          R"({"weight_map":{"a":"../x.safetensors"}})",
          R"({"weight_map":{"a":"x","a":"y"}})",
          R"({"weight_map":{"a":1}})",
          "[]"};
}

void Run(std::string_view input) {
  const auto index = safetensors::ParseIndex("index", input);
  if (!index.ok()) {
    TH_CHECK(absl::IsInvalidArgument(index.status()));
    TH_CHECK(std::string(index.status().message()).find('\n') == std::string::npos);
    return;
  }
  for (const auto& [tensor, file] : *index) {
    // In the checkpoint's folder or below it.
    for (const absl::string_view name : absl::StrSplit(file, '/')) {
      TH_CHECK(!name.empty() && name.front() != '.');
    }
    TH_CHECK(file.find('\0') == std::string::npos);
  }
}

}  // namespace tensorhub::fuzz
