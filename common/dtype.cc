// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/dtype.h"

#include <algorithm>
#include <array>

namespace tensorhub {
namespace {

struct DTypeInfo {
  std::string_view name;
  uint32_t bits;
};
// Indexed by DType; the first entry is no dtype.
constexpr std::array<DTypeInfo, 21> kDTypes = {
    {{"", 0},        {"BOOL", 8},    {"U8", 8},     {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
     {"F8_E8M0", 8}, {"I16", 16},    {"U16", 16},   {"F16", 16}, {"BF16", 16},   {"I32", 32},
     {"U32", 32},    {"F32", 32},    {"I64", 64},   {"U64", 64}, {"F64", 64},    {"C64", 64},
     {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}}};

bool IsDType(uint8_t value) { return value > 0 && value < kDTypes.size(); }

}  // namespace

std::string_view ToString(DType dtype) {
  const auto index = static_cast<uint8_t>(dtype);
  return IsDType(index) ? kDTypes[index].name : "?";
}

std::optional<DType> ParseDType(std::string_view name) {
  for (uint8_t i = 1; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

uint32_t BitsOf(DType dtype) {
  const auto index = static_cast<uint8_t>(dtype);
  return IsDType(index) ? kDTypes[index].bits : 0;
}

std::optional<uint64_t> BitsOfArray(std::span<const uint64_t> shape, DType dtype) {
  if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) return 0;
  uint64_t bits = BitsOf(dtype);
  for (uint64_t extent : shape) {
    if (__builtin_mul_overflow(bits, extent, &bits)) return std::nullopt;
  }
  return bits;
}

}  // namespace tensorhub
