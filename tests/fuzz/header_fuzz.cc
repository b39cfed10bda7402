// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The header of a safetensors file: what is accepted covers the data exactly, and makes a layout.

#include <algorithm>

#include "common/check.h"
#include "tests/fuzz/fuzz.h"
#include "tools/safetensors/header.h"

namespace tensorhub::fuzz {
namespace {

constexpr uint64_t kDataBytes = 1 << 20;  // of the file that the header begins

std::string WithLength(const std::string& json) {
  std::string raw(safetensors::kLengthBytes, '\0');
  for (size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<char>(json.size() >> (8 * i));
  return raw + json;
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::vector<TensorSpec> tensors = {
      {.name = "a", .dtype = DType::kF32, .shape = {2, 3}, .slice = {}},
      {.name = "b \"quoted\"", .dtype = DType::kBF16, .shape = {}, .slice = {}}};
  return {safetensors::MakeHeader(tensors, {{"format", "pt"}}).value().raw, WithLength("{}"),
          WithLength(R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})"),
          WithLength(R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[0],)"
                     R"("data_offsets":[0,0]}} )"),
          WithLength(R"({"a":[[[[1e999,-0.0,null,true,"\u0000"]]]]})")};
}

void Run(std::string_view input) {
  const auto length = safetensors::ParseHeaderLength(
      "f", input.substr(0, safetensors::kLengthBytes), input.size() + kDataBytes);
  if (length.ok()) TH_CHECK(*length <= input.size() + kDataBytes);
  const auto header = safetensors::ParseHeader("f", std::string(input));
  if (!header.ok()) {
    TH_CHECK(absl::IsInvalidArgument(header.status()));
    const std::string message(header.status().message());
    TH_CHECK(message.find('\n') == std::string::npos);
    return;
  }
  TH_CHECK(header->raw == input);
  uint64_t end = 0;
  std::vector<TensorSpec> specs;
  for (const safetensors::TensorEntry& tensor : header->tensors) {
    TH_CHECK(tensor.offset == end);
    TH_CHECK(BytesOf(tensor.spec).value() == tensor.bytes);
    end += tensor.bytes;
    specs.push_back(tensor.spec);
  }
  TH_CHECK(end == header->data_bytes);
  const absl::StatusOr<Layout> layout = Layout::Make(specs);
  if (layout.ok()) TH_CHECK(layout->total_bytes() == header->data_bytes);
}

}  // namespace tensorhub::fuzz
