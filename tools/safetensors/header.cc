// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/bytes.h"
#include "common/check.h"
#include "tools/safetensors/names.h"
#include "tools/safetensors/strict_json.h"

namespace tensorhub::safetensors {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadataKey = "__metadata__";

absl::Status BadFile(std::string_view name, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(name), ": ", why));
}

absl::Status BadTensor(std::string_view tensor, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("tensor ", Shown(tensor), " ", why));
}

// A list of unsigned numbers, or nothing.
std::optional<std::vector<uint64_t>> Numbers(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return std::nullopt;
  std::vector<uint64_t> numbers;
  for (const json& element : *found) {
    if (!element.is_number_unsigned()) return std::nullopt;
    numbers.push_back(element.get<uint64_t>());
  }
  return numbers;
}

// As the format's own library: in this order, a zero behind the others comes too late.
bool Overflows(const std::vector<uint64_t>& shape) {
  uint64_t elements = 1;
  return std::any_of(shape.begin(), shape.end(), [&](uint64_t extent) {
    return __builtin_mul_overflow(elements, extent, &elements);
  });
}

absl::StatusOr<TensorSpec> ParseSpec(const std::string& name, const json& object) {
  if (!object.is_object()) return BadTensor(name, "is not described by a JSON object");
  const auto dtype = object.find("dtype");
  if (dtype == object.end() || !dtype->is_string()) return BadTensor(name, "has no dtype");
  const std::string dtype_name = dtype->get<std::string>();
  const std::optional<DType> known = ParseDType(dtype_name);
  if (!known) return BadTensor(name, absl::StrCat("has the unknown dtype ", Shown(dtype_name)));
  std::optional<std::vector<uint64_t>> shape = Numbers(object, "shape");
  if (!shape) return BadTensor(name, "has no shape of whole numbers, none negative");
  if (Overflows(*shape)) return BadTensor(name, "has a shape whose size overflows");
  return TensorSpec{.name = name, .dtype = *known, .shape = std::move(*shape), .slice = {}};
}

absl::StatusOr<TensorEntry> ParseTensor(const std::string& name, const json& object) {
  absl::StatusOr<TensorSpec> spec = ParseSpec(name, object);
  if (!spec.ok()) return spec.status();
  const absl::StatusOr<uint64_t> bytes = BytesOf(*spec);
  if (!bytes.ok()) return bytes.status();
  const std::optional<std::vector<uint64_t>> offsets = Numbers(object, "data_offsets");
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1]) {
    return BadTensor(name, "has no data_offsets [begin, end] with begin <= end");
  }
  const uint64_t given = (*offsets)[1] - (*offsets)[0];
  if (given != *bytes) {
    return BadTensor(name, absl::StrCat("has data_offsets of ", given,
                                        " bytes, but its dtype and shape make ", *bytes));
  }
  return TensorEntry{std::move(*spec), (*offsets)[0], *bytes};
}

absl::Status CheckMetadata(const json& metadata) {
  if (metadata.is_null()) return absl::OkStatus();
  if (!metadata.is_object()) return absl::InvalidArgumentError("__metadata__ is no JSON object");
  for (const auto& [key, value] : metadata.items()) {
    if (value.is_string()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("__metadata__ field ", Shown(key), " is not a string"));
  }
  return absl::OkStatus();
}

// Invariant 2.
absl::Status CheckCoverage(Header& header) {
  std::sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
    return std::tie(a.offset, a.bytes, a.spec.name) < std::tie(b.offset, b.bytes, b.spec.name);
  });
  uint64_t end = 0;
  for (const TensorEntry& tensor : header.tensors) {
    if (tensor.offset < end) return BadTensor(tensor.spec.name, "overlaps the tensor before it");
    if (tensor.offset > end) {
      return BadTensor(tensor.spec.name, absl::StrCat("begins at ", tensor.offset,
                                                      ", leaving a hole after byte ", end));
    }
    end += tensor.bytes;
  }
  header.data_bytes = end;
  return absl::OkStatus();
}

// A tensor's name as a JSON string.
absl::StatusOr<std::string> JsonName(const std::string& name) {
  if (name == kMetadataKey) return BadTensor(name, "has a name that the format reserves");
  std::string strict = json(name).dump(-1, ' ', false, json::error_handler_t::ignore);
  if (strict != json(name).dump(-1, ' ', false, json::error_handler_t::replace)) {
    return BadTensor(name, "has a name that is no UTF-8, so that no safetensors file can hold it");
  }
  return strict;
}

std::string DescribeTensor(const TensorEntry& tensor) {
  const json object = {{"dtype", std::string(ToString(tensor.spec.dtype))},
                       {"shape", tensor.spec.shape},
                       {"data_offsets", {tensor.offset, tensor.offset + tensor.bytes}}};
  return object.dump();
}

absl::Status ParseObject(const json& object, Header& header) {
  if (!object.is_object()) return absl::InvalidArgumentError("the header is no JSON object");
  header.tensors.reserve(object.size());
  for (const auto& [name, value] : object.items()) {
    if (name == kMetadataKey) {
      if (absl::Status status = CheckMetadata(value); !status.ok()) return status;
      continue;
    }
    absl::StatusOr<TensorEntry> tensor = ParseTensor(name, value);
    if (!tensor.ok()) return tensor.status();
    header.tensors.push_back(std::move(*tensor));
  }
  return CheckCoverage(header);
}

}  // namespace

absl::StatusOr<uint64_t> ParseHeaderLength(std::string_view name, std::string_view first_bytes,
                                           uint64_t file_bytes) {
  if (first_bytes.size() < kLengthBytes) {
    return BadFile(name, absl::StrCat("is no safetensors file: it has only ", first_bytes.size(),
                                      " bytes, the header's length alone takes 8"));
  }
  const uint64_t length = ByteReader(first_bytes).Take<uint64_t>();
  if (length > kHeaderBytesMax) {
    return BadFile(name, absl::StrCat("is no safetensors file: its header claims ", length,
                                      " bytes, at most ", kHeaderBytesMax, " are allowed"));
  }
  if (length > file_bytes - kLengthBytes) {
    return BadFile(name,
                   absl::StrCat("is truncated: its header claims ", length, " bytes, but only ",
                                file_bytes - kLengthBytes, " follow; get the whole file"));
  }
  return length;
}

absl::StatusOr<Header> ParseHeader(std::string_view name, std::string raw) {
  const absl::StatusOr<uint64_t> length = ParseHeaderLength(name, raw, raw.size());
  if (!length.ok()) return length.status();
  if (*length != raw.size() - kLengthBytes) {
    return BadFile(name, absl::StrCat("the header claims ", *length, " bytes and has ",
                                      raw.size() - kLengthBytes));
  }
  Header header;
  header.raw = std::move(raw);
  // Object, tensor, shape; and fields that nobody knows, as deep as the format's own library goes.
  const absl::StatusOr<json> object =
      ParseStrictJson(std::string_view(header.raw).substr(kLengthBytes), {.depth_max = 127});
  if (!object.ok()) return BadFile(name, absl::StrCat("the header ", Text(object.status())));
  if (absl::Status status = ParseObject(*object, header); !status.ok()) {
    return BadFile(name, Text(status));
  }
  return header;
}

absl::StatusOr<Header> MakeHeader(const std::vector<TensorSpec>& tensors,
                                  const std::map<std::string, std::string>& metadata) {
  Header header;
  std::string text = absl::StrCat("{\"", std::string(kMetadataKey), "\":", json(metadata).dump());
  for (const TensorSpec& spec : tensors) {
    absl::StatusOr<std::string> name = JsonName(spec.name);
    if (!name.ok()) return name.status();
    const absl::StatusOr<uint64_t> bytes = BytesOf(spec);
    if (!bytes.ok()) return bytes.status();
    header.tensors.push_back({spec, header.data_bytes, *bytes});
    header.data_bytes += *bytes;
    absl::StrAppend(&text, ",", *name, ":", DescribeTensor(header.tensors.back()));
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kHeaderBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header would take ", text.size(), " bytes, more than the format allows"));
  }
  ByteWriter writer(header.raw);
  writer.Put(uint64_t{text.size()});
  writer.PutBytes(text);
  return header;
}

}  // namespace tensorhub::safetensors
