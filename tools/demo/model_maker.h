// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The model that the demonstration makes when it is given none: names, shapes and dtype of
// SmolLM2-360M with fewer layers, random bytes.

#ifndef TENSORHUB_TOOLS_DEMO_MODEL_MAKER_H_
#define TENSORHUB_TOOLS_DEMO_MODEL_MAKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/layout.h"

namespace tensorhub::demo {

// All 32 layers make 724 MB, 14 make 369 MB.
inline constexpr uint32_t kLayersMax = 32;

std::vector<TensorSpec> SmolTensors(uint32_t layers);

// Writes a safetensors file; equal seeds make equal files.
absl::Status MakeModel(const std::string& path, uint32_t layers, uint64_t seed);

}  // namespace tensorhub::demo

#endif  // TENSORHUB_TOOLS_DEMO_MODEL_MAKER_H_
