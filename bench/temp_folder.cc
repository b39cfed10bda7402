// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/temp_folder.h"

#include <stdlib.h>

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace tensorhub::bench {

absl::Status TempFolder::Make() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "tensorhub-bench.XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no temporary folder ", pattern));
  }
  path_ = pattern;
  return absl::OkStatus();
}

TempFolder::~TempFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

}  // namespace tensorhub::bench
