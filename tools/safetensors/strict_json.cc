// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/strict_json.h"

#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/safetensors/names.h"

namespace tensorhub::safetensors {
namespace {

using nlohmann::json;

// Only looks: the tree is built by a second pass, once the text is known to be harmless.
class Inspector : public nlohmann::json_sax<json> {
 public:
  explicit Inspector(const JsonLimits& limits) : limits_(limits) {}

  const std::string& problem() const { return problem_; }

  bool null() override { return Count(); }
  bool boolean(bool) override { return Count(); }
  bool number_integer(number_integer_t) override { return Count(); }
  bool number_unsigned(number_unsigned_t) override { return Count(); }
  bool number_float(number_float_t, const string_t&) override { return Count(); }
  bool string(string_t&) override { return Count(); }
  bool binary(binary_t&) override { return Count(); }
  bool start_object(size_t) override { return Open(); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    return Fail(absl::StrCat("repeats the key ", Shown(name)));
  }
  bool parse_error(size_t position, const std::string&, const json::exception&) override {
    return Fail(absl::StrCat("is not valid JSON (at byte ", position, ")"));
  }

 private:
  bool Fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool Count() {
    if (++values_ <= limits_.values_max) return true;
    return Fail(absl::StrCat("has more than ", limits_.values_max, " JSON values"));
  }
  bool Open() {
    if (keys_.size() >= limits_.depth_max) {
      return Fail(absl::StrCat("is nested deeper than ", limits_.depth_max, " levels"));
    }
    keys_.emplace_back();
    return Count();
  }
  bool Close() {
    keys_.pop_back();
    return true;
  }

  const JsonLimits limits_;
  size_t values_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects; empty for arrays
  std::string problem_;
};

// The parser behind this takes both: a zero as the end, and skips a byte-order mark.
std::optional<size_t> StrangeByte(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) return 0;
  const size_t zero = text.find('\0');
  return zero == text.npos ? std::nullopt : std::optional(zero);
}

}  // namespace

absl::StatusOr<json> ParseStrictJson(std::string_view text, const JsonLimits& limits) {
  if (const std::optional<size_t> at = StrangeByte(text)) {
    return absl::InvalidArgumentError(absl::StrCat("is not valid JSON (at byte ", *at, ")"));
  }
  Inspector inspector(limits);
  if (!json::sax_parse(text, &inspector)) return absl::InvalidArgumentError(inspector.problem());
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return absl::InvalidArgumentError("is not valid JSON");
  return value;
}

}  // namespace tensorhub::safetensors
