// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub-test-worker: reads commands (worker/commands.h) from standard input, answers each on
// standard output. Ends at `exit` and at the end of its input.

#include <cstdio>
#include <iostream>
#include <string>

#include "tests/integration/worker/commands.h"

int main() {
  tensorhub::worker::Commands commands;
  for (std::string line; std::getline(std::cin, line) && line != "exit";) {
    std::printf("%s\n", commands.Run(line).c_str());
    std::fflush(stdout);
  }
  return 0;
}
