// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Memory for the kernels' programs to work on: pieces that begin and end anywhere, with some room
// around them, as there is in a device's pages.

#ifndef TENSORHUB_TESTS_UNIT_WORKER_AGENT_CUDA_KERNELS_SCATTERED_H_
#define TENSORHUB_TESTS_UNIT_WORKER_AGENT_CUDA_KERNELS_SCATTERED_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "common/random.h"
#include "worker_agent/memory/chunk_digest.h"

namespace tensorhub::agent::kernels {

inline constexpr size_t kMarginBytes = 32;

// `bytes` bytes that begin `off` (0 to 15) behind a multiple of 16.
class Place {
 public:
  Place(size_t bytes, size_t off) : units_((bytes + off + 2 * kMarginBytes) / 16 + 1), off_(off) {}
  uint8_t* data() { return reinterpret_cast<uint8_t*>(units_.data()) + kMarginBytes + off_; }
  // Where the margin in front of it begins.
  const uint8_t* begin() const { return reinterpret_cast<const uint8_t*>(units_.data()); }
  // All of it, with the margins.
  std::string Everything() const {
    return {reinterpret_cast<const char*>(units_.data()), units_.size() * 16};
  }

 private:
  struct alignas(16) Unit {
    uint8_t bytes[16] = {};
  };
  std::vector<Unit> units_;
  size_t off_;
};

inline std::string RandomBytes(Random& random, size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.Next() >> 32);
  return text;
}

// A text cut into pieces of up to `piece_max` bytes, each in a place of its own.
class Scattered {
 public:
  Scattered(Random& random, const std::string& text, size_t piece_max) {
    size_t at = 0;
    while (at < text.size()) {
      const size_t bytes = std::min<size_t>(text.size() - at, 1 + random.Below(piece_max));
      Place& place = places_.emplace_back(bytes, random.Below(16));
      std::memcpy(place.data(), text.data() + at, bytes);
      pieces_.push_back({place.data(), bytes});
      at += bytes;
    }
  }
  const std::vector<DigestPiece>& pieces() const { return pieces_; }

 private:
  std::deque<Place> places_;
  std::vector<DigestPiece> pieces_;
};

}  // namespace tensorhub::agent::kernels

#endif  // TENSORHUB_TESTS_UNIT_WORKER_AGENT_CUDA_KERNELS_SCATTERED_H_
