// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Text for people that a stranger may have written (R9). Protobuf refuses a message with a string
// that is not UTF-8, whole, so such text is mended before it travels on.

#ifndef TENSORHUB_COMMON_TEXT_H_
#define TENSORHUB_COMMON_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tensorhub {

// The length of the UTF-8 sequence at the beginning of `text`, which is not empty; 0 if there is
// none (RFC 3629).
size_t Utf8Length(std::string_view text);

// UTF-8 of at most `bytes_max` bytes: cut between two characters; '?' for each byte that is none.
std::string ReadableText(const std::string& text, size_t bytes_max);

// A name as an error says it: in quotes, escaped and cut, so that the error stays one line.
std::string Shown(std::string_view name);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_TEXT_H_
