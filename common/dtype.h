// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a tensor's elements are, and the bits that they take.

#ifndef TENSORHUB_COMMON_DTYPE_H_
#define TENSORHUB_COMMON_DTYPE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tensorhub {

// The safetensors names. Bytes without a meaning to us are kU8.
enum class DType : uint8_t {
  kBool = 1,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kI64,
  kU64,
  kF64,
  kC64,
  kF4,
  kF6E2M3,
  kF6E3M2,
};
std::string_view ToString(DType dtype);  // "BF16"
std::optional<DType> ParseDType(std::string_view name);
// Bits of one element; 0 for a value that is no dtype.
uint32_t BitsOf(DType dtype);
// Bits of a dense array, or nothing if they do not fit. An extent of 0 makes all of it fit.
std::optional<uint64_t> BitsOfArray(std::span<const uint64_t> shape, DType dtype);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_DTYPE_H_
