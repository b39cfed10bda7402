// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A message of which each field says something, without a list of its fields.

#ifndef TENSORHUB_TESTS_UNIT_PROTOCOL_FILLED_H_
#define TENSORHUB_TESTS_UNIT_PROTOCOL_FILLED_H_

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

// Small numbers that count up: no two fields of a message say the same.
class Filler {
 public:
  void Fill(bool& value) { value = !value; }
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
      std::apply([&](auto&... field) { (Fill(field), ...); }, structural::Fields(value));
    }
  }

 private:
  uint32_t last_ = 0;
};

}  // namespace tensorhub::protocol

#endif  // TENSORHUB_TESTS_UNIT_PROTOCOL_FILLED_H_
