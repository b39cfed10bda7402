// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A target for libFuzzer, which brings `main`. The folder named last on the command line, if any,
// is given the target's seeds before libFuzzer reads it. With TENSORHUB_FUZZ_FRESH in the
// environment nothing else is left in it: then equal -seed= begin with equal inputs.

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::string folder = *argc > 1 ? (*argv)[*argc - 1] : "";
  if (!std::filesystem::is_directory(folder)) return 0;
  if (std::getenv("TENSORHUB_FUZZ_FRESH") != nullptr) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      std::filesystem::remove(file);
    }
  }
  int number = 0;
  for (const std::string& seed : tensorhub::fuzz::Seeds()) {
    std::ofstream(absl::StrCat(folder, "/seed", number++), std::ios::binary) << seed;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensorhub::fuzz::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
