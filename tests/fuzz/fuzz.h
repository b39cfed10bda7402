// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A fuzz target: one parser or state machine that meets bytes of a stranger (R9). It defines Seeds
// and Run; libfuzzer_main.cc makes a libFuzzer program of it, replay_main.cc a test that any
// compiler builds. What is promised is checked with TH_CHECK, on top of what sanitizers find.

#ifndef TENSORHUB_TESTS_FUZZ_FUZZ_H_
#define TENSORHUB_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "common/random.h"

namespace tensorhub::fuzz {

// Good inputs, made by the product's own encoders, and bad ones that once were not refused.
std::vector<std::string> Seeds();

// Bytes for a target that takes its choices from them; the same in every run.
inline std::vector<std::string> RandomSeeds(uint64_t count, size_t bytes) {
  std::vector<std::string> seeds;
  for (uint64_t number = 1; number <= count; ++number) {
    Random random(number);
    std::string& seed = seeds.emplace_back(bytes, '\0');
    for (char& byte : seed) byte = static_cast<char>(random.Next());
  }
  return seeds;
}

// Ends the process if a promise is broken. Equal inputs do the same.
void Run(std::string_view input);

// Choices for a target that plays a sequence: bytes of the input one after the other, zeros when
// they are used up.
class Choices {
 public:
  explicit Choices(std::string_view input) : rest_(input) {}

  bool empty() const { return rest_.empty(); }
  uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  // In [0, bound), which is at most 256.
  size_t Below(size_t bound) { return Byte() % bound; }
  bool OneIn(size_t count) { return Below(count) == count - 1; }
  template <typename T>
  T Of(std::initializer_list<T> values) {
    return *(values.begin() + Below(values.size()));
  }
  // A small number, mostly; sometimes one near a power of two.
  uint64_t Number() {
    const uint8_t byte = Byte();
    if (byte < 224) return byte % 32;
    const unsigned shift = (byte % 32u) * 2 + 2;
    return (shift < 64 ? uint64_t{1} << shift : uint64_t{0}) + Byte() % 3 - 1;
  }
  std::string_view Bytes(size_t count) {
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }

 private:
  std::string_view rest_;
};

}  // namespace tensorhub::fuzz

#endif  // TENSORHUB_TESTS_FUZZ_FUZZ_H_
