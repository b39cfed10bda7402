// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Numbers and bytes into a string, and out of one that a stranger wrote (R9): what the encodings of
// our own are made of. Integers are little endian.

#ifndef TENSORHUB_COMMON_BYTES_H_
#define TENSORHUB_COMMON_BYTES_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tensorhub {

class ByteWriter {
 public:
  // Appends to `out`, which must outlive the writer.
  explicit ByteWriter(std::string& out) : out_(out) {}

  // All bytes of the value's type.
  template <std::unsigned_integral Integer>
  void Put(Integer value) {
    char bytes[sizeof(Integer)];
    for (size_t i = 0; i < sizeof(Integer); ++i) {
      bytes[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    }
    out_.append(bytes, sizeof(Integer));
  }
  // 7 bits a byte, low first: small numbers take few bytes.
  void PutVarint(uint64_t value);
  void PutBytes(std::string_view bytes) { out_.append(bytes); }

 private:
  std::string& out_;
};

// Once something was missing or malformed, `ok` stays false and everything reads as 0 or empty, so
// that a caller may read a whole record before it looks.
class ByteReader {
 public:
  // Views of `bytes` are handed out.
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  size_t left() const { return rest_.size(); }

  template <std::unsigned_integral Integer>
  Integer Take() {
    const std::string_view bytes = TakeBytes(sizeof(Integer));
    if (bytes.empty()) return 0;
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(Integer); ++i) {
      value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return static_cast<Integer>(value);
  }
  // The one spelling that PutVarint writes.
  uint64_t TakeVarint();
  std::string_view TakeBytes(uint64_t count);
  // A varint that counts things of at least `bytes_each`: bounds what a short message can claim.
  uint64_t TakeCount(uint64_t bytes_each);

 private:
  uint64_t Fail();

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_BYTES_H_
