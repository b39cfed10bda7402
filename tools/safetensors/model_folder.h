// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which files of a directory are the model: people's directories hold more than one set of weights,
// leftovers of another save, pipelines of several models, and what loads the weights.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_MODEL_FOLDER_H_
#define TENSORHUB_TOOLS_SAFETENSORS_MODEL_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tensorhub::safetensors {

// One set of weights. Paths are relative to the directory.
struct WeightFiles {
  std::string index;               // names the files; or empty
  std::vector<std::string> files;  // if there is no index
};

struct ModelFolder {
  std::vector<WeightFiles> weights;  // one, or one for each model of a pipeline
  // Small files beside them: configuration, tokenizer, chat template, code, licence.
  std::vector<std::string> companions;
};

// In the order of the transformers and diffusers libraries: `model.safetensors`, or its index, or
// the same for a diffusers model or an adapter; otherwise the only index there is; otherwise all
// `*.safetensors`. A directory with `model_index.json` and no weights of its own is a pipeline: its
// folders are looked at likewise. NOT_FOUND: no weights, or a numbered shard that is missing.
// INVALID_ARGUMENT: shards of several sets.
absl::StatusOr<ModelFolder> FindModel(const std::string& directory);

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_MODEL_FOLDER_H_
