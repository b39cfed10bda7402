// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/model_shardings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tensorhub::bench {
namespace {

constexpr uint64_t kTensorsOfLayer = 9;

void AddExperts(const ModelSizes& sizes, const std::string& prefix,
                std::vector<ModelTensor>& tensors) {
  for (uint64_t i = 0; i < sizes.experts; ++i) {
    const std::string expert = absl::StrCat(prefix, "mlp.experts.", i, ".");
    const std::vector<uint64_t> up = {sizes.intermediate, sizes.hidden};
    tensors.push_back({expert + "gate_proj.weight", up, Part::kExpertRows, i});
    tensors.push_back({expert + "up_proj.weight", up, Part::kExpertRows, i});
    tensors.push_back({expert + "down_proj.weight", {up[1], up[0]}, Part::kExpertColumns, i});
  }
}

void AddLayer(const ModelSizes& sizes, uint64_t layer, std::vector<ModelTensor>& tensors) {
  const std::string prefix = absl::StrCat("model.layers.", layer, ".");
  const uint64_t hidden = sizes.hidden;
  const std::vector<uint64_t> query = {sizes.heads * sizes.head, hidden};
  const std::vector<uint64_t> key = {sizes.kv_heads * sizes.head, hidden};
  const std::vector<uint64_t> up = {sizes.intermediate, hidden};
  tensors.push_back({prefix + "input_layernorm.weight", {hidden}});
  tensors.push_back({prefix + "post_attention_layernorm.weight", {hidden}});
  tensors.push_back({prefix + "self_attn.q_proj.weight", query, Part::kRows});
  tensors.push_back({prefix + "self_attn.k_proj.weight", key, Part::kKvHeads});
  tensors.push_back({prefix + "self_attn.v_proj.weight", key, Part::kKvHeads});
  tensors.push_back({prefix + "self_attn.o_proj.weight", {query[1], query[0]}, Part::kColumns});
  if (sizes.experts > 0) {
    tensors.push_back({prefix + "mlp.gate.weight", {sizes.experts, hidden}});
    return AddExperts(sizes, prefix, tensors);
  }
  tensors.push_back({prefix + "mlp.gate_proj.weight", up, Part::kRows});
  tensors.push_back({prefix + "mlp.up_proj.weight", up, Part::kRows});
  tensors.push_back({prefix + "mlp.down_proj.weight", {up[1], up[0]}, Part::kColumns});
}

// Even pieces of `whole`, counted in units; the last ones may be shorter, or empty.
std::pair<uint64_t, uint64_t> Piece(uint64_t whole, uint64_t pieces, uint64_t piece) {
  const uint64_t size = (whole + pieces - 1) / pieces;
  const uint64_t begin = std::min(piece * size, whole);
  return {begin, std::min(begin + size, whole)};
}

// [begin, end) of the tensor along a dimension.
TensorSpec Sliced(const ModelTensor& tensor, size_t dimension, uint64_t begin, uint64_t end) {
  SliceSpec slice = {tensor.shape, std::vector<uint64_t>(tensor.shape.size(), 0)};
  slice.offset[dimension] = begin;
  TensorSpec spec = {tensor.name, DType::kBF16, tensor.shape, std::move(slice)};
  spec.shape[dimension] = end - begin;
  return spec;
}

TensorSpec Even(const ModelTensor& tensor, size_t dimension, uint64_t ranks, uint64_t rank) {
  const auto [begin, end] = Piece(tensor.shape[dimension], ranks, rank);
  return Sliced(tensor, dimension, begin, end);
}

// Where there are more ranks than heads, neighbours hold the same one.
TensorSpec KvHeads(const Model& model, const ModelTensor& tensor, uint64_t ranks, uint64_t rank) {
  const uint64_t pieces = std::min(ranks, model.kv_heads);
  return Even(tensor, 0, pieces, rank * pieces / ranks);
}

std::optional<TensorSpec> OfRank(const Model& model, const ModelTensor& tensor, Cut cut,
                                 uint64_t ranks, uint64_t rank) {
  if (cut == Cut::kFsdp) return Even(tensor, 0, ranks, rank);
  const bool is_of_expert = tensor.part == Part::kExpertRows || tensor.part == Part::kExpertColumns;
  if (cut == Cut::kTensorAndExpert && is_of_expert) {
    if (tensor.expert * ranks / model.experts != rank) return std::nullopt;
    return Sliced(tensor, 0, 0, tensor.shape[0]);
  }
  switch (tensor.part) {
    case Part::kRows:
    case Part::kExpertRows:
      return Even(tensor, 0, ranks, rank);
    case Part::kColumns:
    case Part::kExpertColumns:
      return Even(tensor, 1, ranks, rank);
    case Part::kKvHeads:
      return KvHeads(model, tensor, ranks, rank);
    case Part::kReplicated:
      break;
  }
  return Sliced(tensor, 0, 0, tensor.shape[0]);
}

}  // namespace

Model MakeModel(const ModelSizes& sizes) {
  Model model = {sizes.kv_heads, sizes.experts, {}};
  const std::vector<uint64_t> vocabulary = {sizes.vocabulary, sizes.hidden};
  model.tensors.push_back({"model.embed_tokens.weight", vocabulary, Part::kRows});
  model.tensors.push_back({"lm_head.weight", vocabulary, Part::kRows});
  model.tensors.push_back({"model.norm.weight", {sizes.hidden}});
  for (uint64_t i = 0; i < sizes.layers; ++i) AddLayer(sizes, i, model.tensors);
  return model;
}

ModelSizes Llama70B() {
  return {.layers = 80,
          .hidden = 8192,
          .intermediate = 28672,
          .heads = 64,
          .kv_heads = 8,
          .head = 128,
          .vocabulary = 128256};
}

ModelSizes Qwen3Moe235B() {
  return {.layers = 94,
          .hidden = 4096,
          .intermediate = 1536,
          .heads = 64,
          .kv_heads = 4,
          .head = 128,
          .vocabulary = 151936,
          .experts = 128};
}

ModelSizes ManyTensors(uint64_t tensors) {
  ModelSizes sizes = Llama70B();
  sizes.layers = (tensors + kTensorsOfLayer - 1) / kTensorsOfLayer;
  return sizes;
}

absl::StatusOr<Model> ModelOfShape(const std::string& shape, uint64_t layers) {
  const ModelSizes sizes = {.layers = layers,
                            .hidden = 2048,
                            .intermediate = 8192,
                            .heads = 16,
                            .kv_heads = 8,
                            .head = 128,
                            .vocabulary = 32000};
  Model model = MakeModel(sizes);
  if (shape == "row-parallel") {
    std::erase_if(model.tensors, [](const auto& tensor) { return tensor.part != Part::kColumns; });
    for (ModelTensor& tensor : model.tensors) tensor.shape[0] *= 2;
  } else if (shape != "dense") {
    return absl::InvalidArgumentError(
        absl::StrCat("no model is called \"", shape, "\"; give dense or row-parallel"));
  }
  return model;
}

absl::StatusOr<Cut> ParseCut(const std::string& name) {
  for (const Cut cut : {Cut::kFsdp, Cut::kTensor, Cut::kTensorAndExpert}) {
    if (ToString(cut) == name) return cut;
  }
  return absl::InvalidArgumentError(absl::StrCat("no cut is called \"", name, "\""));
}

std::string ToString(Cut cut) {
  switch (cut) {
    case Cut::kFsdp:
      return "fsdp";
    case Cut::kTensor:
      return "tp";
    case Cut::kTensorAndExpert:
      return "tp+ep";
  }
  return "?";
}

Layout LayoutOfRank(const Model& model, Cut cut, uint64_t ranks, uint64_t rank) {
  std::vector<TensorSpec> specs;
  specs.reserve(model.tensors.size());
  for (const ModelTensor& tensor : model.tensors) {
    std::optional<TensorSpec> spec = OfRank(model, tensor, cut, ranks, rank);
    if (spec) specs.push_back(*std::move(spec));
  }
  return Layout::Make(specs).value();
}

}  // namespace tensorhub::bench
