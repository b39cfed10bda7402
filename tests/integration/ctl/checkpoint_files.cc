// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/ctl/checkpoint_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/integration/worker/content.h"

namespace tensorhub::harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

uint64_t BytesOf(const FileTensor& tensor) {
  static const std::map<std::string, uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I16", 2}, {"U16", 2},
      {"F16", 2},  {"BF16", 2}, {"I32", 4}, {"U32", 4},     {"F32", 4},     {"F64", 8}, {"I64", 8}};
  uint64_t bytes = sizes.at(tensor.dtype);
  for (const uint64_t extent : tensor.shape) bytes *= extent;
  return bytes;
}

ordered_json Describe(const FileTensor& tensor, uint64_t begin) {
  return {{"dtype", tensor.dtype},
          {"shape", tensor.shape},
          {"data_offsets", {begin, begin + BytesOf(tensor)}}};
}

}  // namespace

Files FilesIn(const std::string& folder) {
  Files files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    EXPECT_TRUE(entry.is_regular_file()) << entry.path();
    std::string bytes(entry.file_size(), '\0');
    std::ifstream(entry.path(), std::ios::binary)
        .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    files[entry.path().filename()] = std::move(bytes);
  }
  EXPECT_FALSE(error) << folder << ": " << error.message();
  return files;
}

void WriteFiles(const std::string& folder, const Files& files) {
  fs::create_directories(folder);
  for (const auto& [name, content] : files) {
    std::ofstream file(folder + "/" + name, std::ios::binary);
    file << content;
    ASSERT_TRUE(file.good()) << folder << "/" << name;
  }
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string RawSafetensors(const std::string& header, const std::string& data, uint64_t claimed) {
  std::string raw;
  for (int i = 0; i < 8; ++i) raw.push_back(static_cast<char>(claimed >> (8 * i)));
  return raw + header + data;
}

std::string RawSafetensors(const std::string& header, const std::string& data) {
  return RawSafetensors(header, data, header.size());
}

std::string SafetensorsFile(const std::vector<FileTensor>& tensors, uint64_t seed,
                            const std::map<std::string, std::string>& metadata) {
  ordered_json header = ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::string data;
  for (const FileTensor& tensor : tensors) {
    header[tensor.name] = Describe(tensor, data.size());
    std::string bytes(BytesOf(tensor), '\0');
    worker::FillContent({seed, 0, tensor.name}, bytes.data(), bytes.size());
    data += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // as the format's own library pads it
  return RawSafetensors(text, data);
}

std::vector<FileTensor> OddTensors() {
  return {{"z.first.in.file", "F32", {3, 5, 7}},
          {"bf16", "BF16", {1021}},
          {"scalar", "F64", {}},
          {"empty", "F32", {0}},
          {"empty.between", "I64", {4, 0, 2}},
          {"bool", "BOOL", {13}},
          {"f8", "F8_E4M3", {257, 3}},
          {"i64", "I64", {11}},
          {"u8 with a blank and \"quotes\"", "U8", {100003}},
          {"größe", "F16", {31}},
          {"empty.last", "U8", {7, 0}}};
}

Files HuggingFaceModel(uint64_t seed) {
  constexpr int kShards = 3;
  Files files;
  ordered_json weights = ordered_json::object();
  for (int shard = 1; shard <= kShards; ++shard) {
    const std::string name = "model-0000" + std::to_string(shard) + "-of-00003.safetensors";
    const std::string layer = "model.layers." + std::to_string(shard) + ".";
    const std::vector<FileTensor> tensors = {{layer + "mlp.weight", "BF16", {512, 301}},
                                             {layer + "norm.weight", "F32", {301}},
                                             {layer + "cache", "BF16", {0, 64}}};
    for (const FileTensor& tensor : tensors) weights[tensor.name] = name;
    files[name] = SafetensorsFile(tensors, seed, {{"format", "pt"}, {"shard", name}});
  }
  const ordered_json index = {{"metadata", {{"total_size", 0}}}, {"weight_map", weights}};
  files["model.safetensors.index.json"] = index.dump(2) + "\n";
  return files;
}

}  // namespace tensorhub::harness
