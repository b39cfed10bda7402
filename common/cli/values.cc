// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/values.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tensorhub::cli {
namespace {

// Splits "1.5s" into 1.5 and "s". Exponents, signs, "inf" and "nan" are not numbers here.
std::optional<std::pair<double, std::string_view>> SplitUnit(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + digits) return std::nullopt;
  return std::pair(number, text.substr(digits));
}

std::optional<double> MillisecondsPer(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit == "s") return 1000;
  if (unit == "m") return 60 * 1000;
  if (unit == "h") return 3600 * 1000;
  return std::nullopt;
}

std::optional<double> BytesPer(std::string_view unit) {
  if (unit.ends_with('B')) unit.remove_suffix(1);
  if (unit.empty()) return 1;
  const bool binary = unit.size() == 2 && unit[1] == 'i';
  if (unit.size() != 1 && !binary) return std::nullopt;
  const size_t power = std::string_view("KMGT").find(unit[0] == 'k' ? 'K' : unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  return std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
}

}  // namespace

ErrorText ParseValue(std::string_view text, std::string* out) {
  *out = std::string(text);
  return std::nullopt;
}

ErrorText ParseValue(std::string_view text, bool* out) {
  for (std::string_view yes : {"true", "yes", "on", "1"}) {
    if (text == yes) return *out = true, std::nullopt;
  }
  for (std::string_view no : {"false", "no", "off", "0"}) {
    if (text == no) return *out = false, std::nullopt;
  }
  return "is neither true nor false";
}

ErrorText ParseValue(std::string_view text, double* out) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return "is not a number";
  }
  *out = value;
  return std::nullopt;
}

ErrorText ParseValue(std::string_view text, std::chrono::milliseconds* out) {
  constexpr char kProblem[] = "is not a duration; write it like 250ms, 5s, 1m or 2h";
  constexpr double kLongestMs = 1e15;  // beyond any clock's use, and far from overflow
  if (text == "0") return *out = std::chrono::milliseconds(0), std::nullopt;
  const auto split = SplitUnit(text);
  if (!split) return kProblem;
  const std::optional<double> unit = MillisecondsPer(split->second);
  if (!unit || split->first * *unit > kLongestMs) return kProblem;
  *out = std::chrono::milliseconds(std::llround(split->first * *unit));
  if (out->count() == 0 && split->first > 0) return "is less than a millisecond";
  return std::nullopt;
}

ErrorText ParseValue(std::string_view text, Bytes* out) {
  constexpr char kProblem[] = "is not a size; write it like 4096, 64MiB or 2GB";
  constexpr double kLargest = 9.0e18;
  const auto split = SplitUnit(text);
  if (!split) return kProblem;
  const std::optional<double> unit = BytesPer(split->second);
  if (!unit || split->first * *unit > kLargest) return kProblem;
  if (split->second.empty())
    return ParseValue(text, &out->value) ? ErrorText(kProblem) : ErrorText();
  out->value = static_cast<uint64_t>(std::llround(split->first * *unit));
  return std::nullopt;
}

ErrorText ParseValue(std::string_view text, std::vector<std::string>* out) {
  out->emplace_back(text);
  return std::nullopt;
}

ErrorText NotAWholeNumber(std::string_view low, std::string_view high) {
  return absl::StrCat("is not a whole number from ", std::string(low), " to ", std::string(high));
}

std::string FormatValue(const std::string& value) { return value; }

std::string FormatValue(bool value) { return value ? "true" : ""; }

std::string FormatValue(double value) { return absl::StrCat(value); }

std::string FormatValue(std::chrono::milliseconds value) {
  const int64_t ms = value.count();
  if (ms != 0 && ms % 3600000 == 0) return absl::StrCat(ms / 3600000, "h");
  if (ms != 0 && ms % 60000 == 0) return absl::StrCat(ms / 60000, "m");
  if (ms % 1000 == 0) return absl::StrCat(ms / 1000, "s");
  return absl::StrCat(ms, "ms");
}

std::string FormatValue(const Bytes& value) {
  constexpr const char* kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};
  uint64_t number = value.value;
  size_t unit = 0;
  while (unit < 4 && number != 0 && number % 1024 == 0) {
    number /= 1024;
    ++unit;
  }
  return absl::StrCat(number, kUnits[unit]);
}

std::string FormatValue(const std::vector<std::string>& value) { return absl::StrJoin(value, ","); }

}  // namespace tensorhub::cli
