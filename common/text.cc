// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/text.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tensorhub {

size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and beyond U+10FFFF.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
  if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
  return length;
}

std::string ReadableText(const std::string& text, size_t bytes_max) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t known = Utf8Length(rest);
    const size_t length = std::max<size_t>(known, 1);
    if (out.size() + length > bytes_max) break;
    known == 0 ? out.append("?") : out.append(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return out;
}

std::string Shown(std::string_view name) {
  constexpr size_t kBytesMax = 200;
  const std::string cut = absl::Utf8SafeCEscape(std::string(name.substr(0, kBytesMax)));
  return absl::StrCat("\"", cut, name.size() > kBytesMax ? "…\"" : "\"");
}

}  // namespace tensorhub
