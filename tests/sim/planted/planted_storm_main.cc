// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs storms of connections until the planted bug is found; fails if it survives them all, or if
// what is found is something else than the pattern says.

#include <cstdio>
#include <regex>
#include <string>

#include "tests/unit/worker_agent/tcp/connection_storm.h"

namespace tensorhub::fault {

extern const bool planted_applied;

namespace {

constexpr uint64_t kSeeds = 100;
constexpr int kSteps = 20'000;

int Main(const std::string& expected) {
  if (!planted_applied) {
    std::puts("the patch does not apply to its source any more: see HACKING.md");
    return 1;
  }
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string complaint = agent::ConnectionStorm(seed).Run(kSteps);
    if (complaint.empty()) continue;
    const bool found = std::regex_search(complaint, std::regex(expected));
    std::printf("seed %lu %s: %s\n", static_cast<unsigned long>(seed),
                found ? "found it" : ("is to say '" + expected + "', and says").c_str(),
                complaint.c_str());
    return found ? 0 : 1;
  }
  std::printf("survived %lu seeds\n", static_cast<unsigned long>(kSeeds));
  return 1;
}

}  // namespace
}  // namespace tensorhub::fault

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: planted_… PATTERN\n");
    return 2;
  }
  return tensorhub::fault::Main(argv[1]);
}
