// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A temporary folder of this process's own, which goes with all that is in it.

#ifndef TENSORHUB_BENCH_TEMP_FOLDER_H_
#define TENSORHUB_BENCH_TEMP_FOLDER_H_

#include <filesystem>

#include "absl/status/status.h"

namespace tensorhub::bench {

class TempFolder {
 public:
  TempFolder() = default;
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  // Once. RESOURCE_EXHAUSTED names the place.
  absl::Status Make();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;  // empty: not made
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_TEMP_FOLDER_H_
