// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A message of which each field says something, without a list of its fields.

#ifndef TENSORHUB_TESTS_UNIT_PROTOCOL_FILLED_H_
#define TENSORHUB_TESTS_UNIT_PROTOCOL_FILLED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/capability.h"
#include "common/location.h"
#include "common/remedy.h"
#include "common/structural.h"

namespace tensorhub::protocol {

// Small numbers that count up: no two fields of a message say the same, but bools and enums.
// Of bools all are flipped, or one, which tells it from the others.
class Filler {
 public:
  Filler() = default;
  // `flipped` counts the bools from 0, in the order of the fields; others stay as they are.
  explicit Filler(size_t flipped) : flipped_(flipped) {}

  void Fill(bool& value) {
    if (flipped_.value_or(bools_) == bools_) value = !value;
    ++bools_;
  }
  void Fill(CapabilityKey& value) { value = CapabilityKey::Guessable(++last_); }
  void Fill(Location& value) { value = Location::Parse("region/datacenter/rack/host").value(); }
  void Fill(std::string& value) { value = absl::StrCat("text", ++last_); }
  void Fill(absl::Status& value) {
    value = AsOutage(absl::UnavailableError(absl::StrCat("why ", ++last_)));
  }
  template <typename T>
  void Fill(std::optional<T>& value) {
    Fill(value.emplace());
  }
  template <typename T>
  void Fill(std::vector<T>& value) {
    Fill(value.emplace_back());
  }
  template <typename T>
  void Fill(T& value) {
    if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      value = static_cast<T>(std::is_enum_v<T> ? 1u : ++last_);
    } else {
      std::apply([&](auto&... field) { (this->Fill(field), ...); }, structural::Fields(value));
    }
  }

  // That have come so far.
  size_t bools() const { return bools_; }

 private:
  const std::optional<size_t> flipped_ = std::nullopt;  // none: all
  uint32_t last_ = 0;
  size_t bools_ = 0;
};

}  // namespace tensorhub::protocol

#endif  // TENSORHUB_TESTS_UNIT_PROTOCOL_FILLED_H_
