// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub-test-worker: reads commands (worker/commands.h) from standard input, answers each on
// standard output. Ends at `exit` and at the end of its input, and on SIGTERM, in order.

#include <cstdio>
#include <iostream>
#include <string>

#include "tests/integration/worker/commands.h"
#include "tools/ctl/leave_on_signal.h"

int main() {
  tensorhub::ctl::LeaveOnSignal leaving(std::chrono::seconds(2));
  tensorhub::worker::Commands commands(leaving);
  for (std::string line; std::getline(std::cin, line) && line != "exit";) {
    std::printf("%s\n", commands.Run(line).c_str());
    std::fflush(stdout);
  }
  return 0;
}
