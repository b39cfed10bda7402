// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The header of one safetensors file: eight bytes of length (little endian), then a JSON object
// of tensors with their places in the data that follows. The raw bytes are kept, because a header
// that was parsed and printed again would not be the same file. What is a valid one is what the
// format's own library (safetensors 0.8) says, but for what docs/checkpoints.md lists.
//
// Invariants of a parsed header:
// 1. Names are unique; sizes fit dtype and shape.
// 2. The tensors cover the data exactly: no overlap, no hole, ordered by offset.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_HEADER_H_
#define TENSORHUB_TOOLS_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/layout.h"

namespace tensorhub::safetensors {

inline constexpr uint64_t kLengthBytes = 8;
// The format's own limit.
inline constexpr uint64_t kHeaderBytesMax = 100'000'000;

struct TensorEntry {
  TensorSpec spec;
  uint64_t offset = 0;  // in the file's data
  uint64_t bytes = 0;
};

struct Header {
  std::string raw;  // the length and the JSON, as in the file
  std::vector<TensorEntry> tensors;
  uint64_t data_bytes = 0;
};

// The length of the JSON that follows the first eight bytes, checked against the file's size.
// `name` is for messages. INVALID_ARGUMENT: too long, or longer than the file.
absl::StatusOr<uint64_t> ParseHeaderLength(std::string_view name, std::string_view first_bytes,
                                           uint64_t file_bytes);

// `raw` is everything before the data. INVALID_ARGUMENT names the file, the tensor and what is
// wrong with it.
absl::StatusOr<Header> ParseHeader(std::string_view name, std::string raw);

// A header for tensors that never were in a file: in the order given, JSON padded so that the data
// begin at a multiple of eight bytes. INVALID_ARGUMENT for a name that the format cannot express.
absl::StatusOr<Header> MakeHeader(const std::vector<TensorSpec>& tensors,
                                  const std::map<std::string, std::string>& metadata);

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_HEADER_H_
