// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints on disk, right and wrong, written without the code under test.

#ifndef TENSORHUB_TESTS_INTEGRATION_CTL_CHECKPOINT_FILES_H_
#define TENSORHUB_TESTS_INTEGRATION_CTL_CHECKPOINT_FILES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tensorhub::harness {

// Name to content of everything in a folder; fails the test if it is not all regular files.
using Files = std::map<std::string, std::string>;
Files FilesIn(const std::string& folder);
void WriteFiles(const std::string& folder, const Files& files);
// The names in a folder, whatever they are.
std::vector<std::string> NamesIn(const std::string& folder);

struct FileTensor {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;
};
// A safetensors file with these tensors one behind another. Other seeds make other bytes.
std::string SafetensorsFile(const std::vector<FileTensor>& tensors, uint64_t seed,
                            const std::map<std::string, std::string>& metadata = {});
// A file of this header, `claimed` as its length, and `data` behind it.
std::string RawSafetensors(const std::string& header, const std::string& data, uint64_t claimed);
std::string RawSafetensors(const std::string& header, const std::string& data);

// Every size of dtype, a scalar, tensors without a byte, and sizes that are multiples of nothing.
std::vector<FileTensor> OddTensors();
// Three shards and their index, as the transformers library writes them; about a megabyte.
Files HuggingFaceModel(uint64_t seed);

}  // namespace tensorhub::harness

#endif  // TENSORHUB_TESTS_INTEGRATION_CTL_CHECKPOINT_FILES_H_
