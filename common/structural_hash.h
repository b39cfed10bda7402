// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A hash of plain data, member by member: for the cores' effects, so that two versions of a core
// can be compared without keeping what they said.
//
// Zero, empty and absent members count as nothing at all. So a field that is added at the end of a
// struct, and says nothing, changes no hash.

#ifndef TENSORHUB_COMMON_STRUCTURAL_HASH_H_
#define TENSORHUB_COMMON_STRUCTURAL_HASH_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "common/remedy.h"
#include "common/structural.h"

namespace tensorhub {
// Never 0.
constexpr uint64_t Mix(uint64_t seed, uint64_t value) {
  uint64_t hash = (seed ^ value) * 0x9e3779b97f4a7c15u;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
  return std::max<uint64_t>(hash ^ (hash >> 29), 1);
}

inline uint64_t StructuralHash(std::string_view text) {
  if (text.empty()) return 0;
  uint64_t hash = text.size();
  for (const char byte : text) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  return Mix(hash, text.size());
}

inline uint64_t StructuralHash(const absl::Status& status) {
  if (status.ok()) return 0;
  const uint64_t text = StructuralHash(std::string_view(std::string(status.message())));
  const auto remedy = static_cast<uint64_t>(RemedyOf(status));
  return Mix(Mix(static_cast<uint64_t>(status.code()), text), remedy);
}

template <typename T>
uint64_t StructuralHash(const std::optional<T>& value);
template <typename... T>
uint64_t StructuralHash(const std::variant<T...>& value);

// 0: nothing but zeros in it.
template <typename T>
uint64_t StructuralHash(const T& value) {
  if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
    return static_cast<uint64_t>(value) == 0 ? 0 : Mix(1, static_cast<uint64_t>(value));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return StructuralHash(std::string_view(value));
  } else if constexpr (requires { value.begin(); }) {
    uint64_t hash = 0;
    for (const auto& each : value) hash = Mix(hash, StructuralHash(each) + 1);
    return hash;
  } else if constexpr (requires { value.first, value.second; }) {
    return Mix(StructuralHash(value.first), StructuralHash(value.second));
  } else {
    uint64_t hash = 0;
    uint64_t index = 0;
    const auto add = [&](const auto& field) {
      ++index;
      const uint64_t of_field = StructuralHash(field);
      if (of_field != 0) hash = Mix(hash + index, of_field);
    };
    std::apply([&](const auto&... field) { (add(field), ...); }, structural::Fields(value));
    return hash;
  }
}

template <typename T>
uint64_t StructuralHash(const std::optional<T>& value) {
  return value ? Mix(1, StructuralHash(*value)) : 0;
}

template <typename... T>
uint64_t StructuralHash(const std::variant<T...>& value) {
  const uint64_t hash = std::visit([](const auto& body) { return StructuralHash(body); }, value);
  return value.index() == 0 ? hash : Mix(value.index() + 1, hash);
}

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_STRUCTURAL_HASH_H_
