// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a flag's text becomes a value, one overload per type, and how the value is shown in help.
// Parsing returns what is wrong with the text (without repeating it), or nothing.

#ifndef TENSORHUB_COMMON_CLI_VALUES_H_
#define TENSORHUB_COMMON_CLI_VALUES_H_

#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorhub::cli {

using ErrorText = std::optional<std::string>;

// "64MiB"; a type of its own, so that a plain number flag cannot be confused with it.
struct Bytes {
  uint64_t value = 0;
  auto operator<=>(const Bytes&) const = default;
};

ErrorText ParseValue(std::string_view text, std::string* out);
ErrorText ParseValue(std::string_view text, bool* out);    // true|false, yes|no, on|off, 1|0
ErrorText ParseValue(std::string_view text, double* out);  // finite
// A number with ms, s, m or h: "250ms", "1.5s". A bare 0 needs no unit. Not negative.
ErrorText ParseValue(std::string_view text, std::chrono::milliseconds* out);
// A number, alone or with K/M/G/T (decimal: kB) or Ki/Mi/Gi/Ti, each with or without a B.
ErrorText ParseValue(std::string_view text, Bytes* out);
ErrorText ParseValue(std::string_view text, std::vector<std::string>* out);  // appends

ErrorText NotAWholeNumber(std::string_view low, std::string_view high);

template <std::integral T>
ErrorText ParseValue(std::string_view text, T* out) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return NotAWholeNumber(std::to_string(std::numeric_limits<T>::min()),
                           std::to_string(std::numeric_limits<T>::max()));
  }
  *out = value;
  return std::nullopt;
}

template <typename T>
ErrorText ParseValue(std::string_view text, std::optional<T>* out) {
  T value{};
  if (ErrorText problem = ParseValue(text, &value)) return problem;
  *out = std::move(value);
  return std::nullopt;
}

// As help shows a default; empty: nothing worth showing.
std::string FormatValue(const std::string& value);
std::string FormatValue(bool value);
std::string FormatValue(double value);
std::string FormatValue(std::chrono::milliseconds value);
std::string FormatValue(const Bytes& value);
std::string FormatValue(const std::vector<std::string>& value);
template <std::integral T>
std::string FormatValue(T value) {
  return std::to_string(value);
}
template <typename T>
std::string FormatValue(const std::optional<T>& value) {
  return value ? FormatValue(*value) : "";
}

// What stands for the value in help, unless the flag says something better.
inline std::string Placeholder(const std::string*) { return "TEXT"; }
inline std::string Placeholder(const bool*) { return ""; }
inline std::string Placeholder(const double*) { return "NUMBER"; }
inline std::string Placeholder(const std::chrono::milliseconds*) { return "DURATION"; }
inline std::string Placeholder(const Bytes*) { return "BYTES"; }
inline std::string Placeholder(const std::vector<std::string>*) { return "TEXT"; }
template <std::integral T>
std::string Placeholder(const T*) {
  return "N";
}
template <typename T>
std::string Placeholder(const std::optional<T>*) {
  return Placeholder(static_cast<const T*>(nullptr));
}

}  // namespace tensorhub::cli

#endif  // TENSORHUB_COMMON_CLI_VALUES_H_
