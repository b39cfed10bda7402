// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/bytes.h"

namespace tensorhub {

void ByteWriter::PutVarint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(0x80 | (value & 0x7f)));
  out_.push_back(static_cast<char>(value));
}

uint64_t ByteReader::Fail() {
  ok_ = false;
  rest_ = {};
  return 0;
}

uint64_t ByteReader::TakeVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const uint64_t byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    if (shift == 63 && byte > 1) break;  // more than 64 bits
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return byte == 0 && shift > 0 ? Fail() : value;  // a leading zero
  }
  return Fail();
}

std::string_view ByteReader::TakeBytes(uint64_t count) {
  if (count > rest_.size()) {
    Fail();
    return {};
  }
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

uint64_t ByteReader::TakeCount(uint64_t bytes_each) {
  const uint64_t count = TakeVarint();
  return count > rest_.size() / bytes_each ? Fail() : count;
}

}  // namespace tensorhub
