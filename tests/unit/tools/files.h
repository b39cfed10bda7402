// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Safetensors files made by hand, right and wrong.

#ifndef TENSORHUB_TESTS_UNIT_TOOLS_FILES_H_
#define TENSORHUB_TESTS_UNIT_TOOLS_FILES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace tensorhub::safetensors {

// The eight bytes of length and the JSON.
inline std::string Raw(const std::string& json) {
  std::string raw;
  for (size_t i = 0; i < 8; ++i) {
    raw.push_back(static_cast<char>(uint64_t{json.size()} >> (8 * i)));
  }
  return raw + json;
}

inline void WriteTo(const std::filesystem::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  ASSERT_TRUE(file.good()) << path;
}

inline std::string ReadFrom(const std::filesystem::path& path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// A directory of the test's own, gone with it.
class TempDirectory {
 public:
  TempDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "tensorhub-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TempDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::string str() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TESTS_UNIT_TOOLS_FILES_H_
