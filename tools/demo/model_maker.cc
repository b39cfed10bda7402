// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/demo/model_maker.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "tools/safetensors/header.h"

namespace tensorhub::demo {
namespace {

constexpr uint64_t kVocabulary = 49152;
constexpr uint64_t kHidden = 960;
constexpr uint64_t kIntermediate = 2560;
constexpr uint64_t kKeyValue = 320;  // 5 heads of 64

TensorSpec Weight(std::string name, std::vector<uint64_t> shape) {
  return {.name = std::move(name), .dtype = DType::kBF16, .shape = std::move(shape), .slice = {}};
}

void AddLayer(uint32_t index, std::vector<TensorSpec>& tensors) {
  const std::string layer = absl::StrCat("model.layers.", index, ".");
  const auto add = [&](const std::string& name, std::vector<uint64_t> shape) {
    tensors.push_back(Weight(absl::StrCat(layer, name, ".weight"), std::move(shape)));
  };
  add("input_layernorm", {kHidden});
  add("mlp.down_proj", {kHidden, kIntermediate});
  add("mlp.gate_proj", {kIntermediate, kHidden});
  add("mlp.up_proj", {kIntermediate, kHidden});
  add("post_attention_layernorm", {kHidden});
  add("self_attn.k_proj", {kKeyValue, kHidden});
  add("self_attn.o_proj", {kHidden, kHidden});
  add("self_attn.q_proj", {kHidden, kHidden});
  add("self_attn.v_proj", {kKeyValue, kHidden});
}

void WriteRandom(std::ofstream& file, uint64_t bytes, Random& random) {
  std::vector<uint64_t> block(size_t{1} << 17);
  while (bytes > 0 && file.good()) {
    for (uint64_t& word : block) word = random.Next();
    const uint64_t count = std::min<uint64_t>(bytes, block.size() * sizeof(uint64_t));
    file.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(count));
    bytes -= count;
  }
}

}  // namespace

std::vector<TensorSpec> SmolTensors(uint32_t layers) {
  std::vector<TensorSpec> tensors = {Weight("model.embed_tokens.weight", {kVocabulary, kHidden})};
  for (uint32_t i = 0; i < layers; ++i) AddLayer(i, tensors);
  tensors.push_back(Weight("model.norm.weight", {kHidden}));
  return tensors;
}

absl::Status MakeModel(const std::string& path, uint32_t layers, uint64_t seed) {
  const auto header = safetensors::MakeHeader(SmolTensors(layers), {{"format", "pt"}});
  if (!header.ok()) return header.status();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << header->raw;
  Random random(seed);
  WriteRandom(file, header->data_bytes, random);
  file.close();
  if (file.good()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(path, ": cannot be written (disk full?)"));
}

}  // namespace tensorhub::demo
