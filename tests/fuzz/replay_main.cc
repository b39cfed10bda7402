// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A target without libFuzzer: runs its seeds, every beginning of each, and each with a few bytes
// changed, the same in every run. Or, with arguments, the files that they name: what a fuzzer left.

#include <cstdio>
#include <fstream>
#include <iterator>

#include "common/random.h"
#include "tests/fuzz/fuzz.h"

namespace tensorhub::fuzz {
namespace {

constexpr int kDamaged = 100;       // of each seed
constexpr size_t kBeginnings = 50;  // of a long seed

std::string Damaged(std::string input, Random& random) {
  if (input.empty()) return input;
  for (uint64_t count = 1 + random.Below(4); count > 0; --count) {
    input[random.Below(input.size())] = static_cast<char>(random.Next());
  }
  return input;
}

void RunAround(const std::string& seed) {
  Random random(seed.size());
  Run(seed);
  const size_t step = 1 + seed.size() / kBeginnings;
  for (size_t size = 0; size < seed.size(); size += step) Run(seed.substr(0, size));
  for (int number = 0; number < kDamaged; ++number) Run(Damaged(seed, random));
}

bool RunFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s cannot be read\n", path);
    return false;
  }
  Run(std::string(std::istreambuf_iterator<char>(file), {}));
  std::printf("%s: ok\n", path);
  return true;
}

int Main(int argc, char** argv) {
  for (int argument = 1; argument < argc; ++argument) {
    if (!RunFile(argv[argument])) return 1;
  }
  if (argc > 1) return 0;
  const std::vector<std::string> seeds = Seeds();
  for (const std::string& seed : seeds) RunAround(seed);
  std::printf("%zu seeds\n", seeds.size());
  return seeds.empty() ? 1 : 0;
}

}  // namespace
}  // namespace tensorhub::fuzz

int main(int argc, char** argv) { return tensorhub::fuzz::Main(argc, argv); }
