// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/target.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/text.h"

namespace tensorhub::http {
namespace {

bool IsEscape(std::string_view text) {
  return text.size() >= 3 && absl::ascii_isxdigit(static_cast<unsigned char>(text[1])) &&
         absl::ascii_isxdigit(static_cast<unsigned char>(text[2]));
}

absl::Status Unreadable(std::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat(Shown(text), ": a % must have two hexadecimal digits behind it; write %25"));
}

}  // namespace

absl::StatusOr<std::string> Unescaped(std::string_view text, bool plus_is_space) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%') {
      if (!IsEscape(text.substr(at))) return Unreadable(text);
      absl::StrAppend(&plain, absl::HexStringToBytes(std::string(text.substr(at + 1, 2))));
      at += 2;
    } else {
      plain += plus_is_space && text[at] == '+' ? ' ' : text[at];
    }
  }
  return plain;
}

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

std::string_view QueryOf(std::string_view target) {
  const size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

absl::StatusOr<Parameters> Parameters::Parse(std::string_view query,
                                             const std::vector<std::string>& known) {
  Parameters parameters;
  const std::vector<std::string> parts = absl::StrSplit(std::string(query), '&', absl::SkipEmpty());
  for (const std::string& part : parts) {
    const size_t equals = std::min(part.find('='), part.size());
    const absl::StatusOr<std::string> name = Unescaped(part.substr(0, equals), true);
    if (!name.ok()) return name.status();
    const std::string rest = part.substr(std::min(equals + 1, part.size()));
    const absl::StatusOr<std::string> value = Unescaped(rest, true);
    if (!value.ok()) return value.status();
    if (std::find(known.begin(), known.end(), *name) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          Shown(*name), ": no such parameter; ",
          known.empty() ? "give none" : absl::StrCat("there is ", absl::StrJoin(known, ", "))));
    }
    if (!parameters.values_.emplace(*name, *value).second) {
      return absl::InvalidArgumentError(absl::StrCat(*name, ": is given twice; give it once"));
    }
  }
  return parameters;
}

std::optional<std::string> Parameters::Text(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional<std::string>(found->second);
}

absl::StatusOr<std::optional<uint64_t>> Parameters::Number(const std::string& name, uint64_t least,
                                                           uint64_t most) const {
  const std::optional<std::string> text = Text(name);
  if (!text) return std::optional<uint64_t>();
  uint64_t number = 0;
  const bool digits = text->find_first_not_of("0123456789") == std::string::npos;
  if (!digits || !absl::SimpleAtoi(*text, &number) || number < least || number > most) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", Shown(*text), "; give a number from ", least, " to ", most));
  }
  return std::optional<uint64_t>(number);
}

}  // namespace tensorhub::http
