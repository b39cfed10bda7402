// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A hash of plain data, member by member: for the cores' effects, so that two versions of a core
// can be compared without keeping what they said.
//
// Zero, empty and absent members count as nothing at all. So a field that is added at the end of a
// struct, and says nothing, changes no hash. A struct of more members than Fields knows does not
// compile.

#ifndef TENSORHUB_TESTS_SIM_STRUCTURAL_HASH_H_
#define TENSORHUB_TESTS_SIM_STRUCTURAL_HASH_H_

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

namespace tensorhub::fault {
namespace structural {

// Stands for a member of any type, where only the number of members is asked for.
struct AnyMember {
  template <typename T>
  operator T() const noexcept;  // NOLINT(google-explicit-constructor)
};

template <typename T, typename... Members>
constexpr size_t CountOf(Members... members) {
  if constexpr (requires { T{members..., AnyMember{}}; }) {
    return CountOf<T>(members..., AnyMember{});
  } else {
    return sizeof...(Members);
  }
}

// References to the members of an aggregate, in their order.
template <typename T>
auto Fields(const T& v) {
  constexpr size_t kCount = CountOf<T>();
  if constexpr (kCount == 0) {
    return std::tuple<>();
  } else if constexpr (kCount == 1) {
    const auto& [a] = v;
    return std::tie(a);
  } else if constexpr (kCount == 2) {
    const auto& [a, b] = v;
    return std::tie(a, b);
  } else if constexpr (kCount == 3) {
    const auto& [a, b, c] = v;
    return std::tie(a, b, c);
  } else if constexpr (kCount == 4) {
    const auto& [a, b, c, d] = v;
    return std::tie(a, b, c, d);
  } else if constexpr (kCount == 5) {
    const auto& [a, b, c, d, e] = v;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    const auto& [a, b, c, d, e, f] = v;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    const auto& [a, b, c, d, e, f, g] = v;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (kCount == 8) {
    const auto& [a, b, c, d, e, f, g, h] = v;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (kCount == 9) {
    const auto& [a, b, c, d, e, f, g, h, i] = v;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (kCount == 10) {
    const auto& [a, b, c, d, e, f, g, h, i, j] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (kCount == 11) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (kCount == 12) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (kCount == 13) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  }
}

}  // namespace structural

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

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_STRUCTURAL_HASH_H_
