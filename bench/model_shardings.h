// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tensors as models of several kinds have them, and the ways in which trainers and engines cut
// them.

#ifndef TENSORHUB_BENCH_MODEL_SHARDINGS_H_
#define TENSORHUB_BENCH_MODEL_SHARDINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/layout.h"

namespace tensorhub::bench {

// What a tensor is to tensor parallelism.
enum class Part { kReplicated, kRows, kColumns, kKvHeads, kExpertRows, kExpertColumns };

struct ModelTensor {
  std::string name;
  std::vector<uint64_t> shape;
  Part part = Part::kReplicated;
  uint64_t expert = 0;
};

struct Model {
  uint64_t kv_heads = 0;
  uint64_t experts = 0;
  std::vector<ModelTensor> tensors;
};

struct ModelSizes {
  uint64_t layers, hidden, intermediate, heads, kv_heads, head, vocabulary;
  uint64_t experts = 0;  // 0: a dense model
};
Model MakeModel(const ModelSizes& sizes);
ModelSizes Llama70B();
ModelSizes Qwen3Moe235B();
// A dense one with about so many tensors.
ModelSizes ManyTensors(uint64_t tensors);
// A model of so many layers, in BF16. `dense`: a small transformer, of 126 MB a layer and 262 MB of
// vocabulary. `row-parallel`: only what tensor parallelism cuts along the columns, so that two
// ranks read runs of 2 and 8 KiB; 84 MB a layer. INVALID_ARGUMENT: another name.
absl::StatusOr<Model> ModelOfShape(const std::string& shape, uint64_t layers);

enum class Cut {
  kFsdp,             // each tensor's rows, in even pieces and a shorter last one
  kTensor,           // rows or columns as a transformer's layers have it; norms everywhere
  kTensorAndExpert,  // the same, but each expert whole at one rank
};
std::string ToString(Cut cut);
// INVALID_ARGUMENT: it is none of them.
absl::StatusOr<Cut> ParseCut(const std::string& name);

// What one rank of the group registers.
Layout LayoutOfRank(const Model& model, Cut cut, uint64_t ranks, uint64_t rank);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_MODEL_SHARDINGS_H_
