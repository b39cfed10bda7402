// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Replays tests/protocol/*.txt and compares the text. TENSORHUB_REWRITE=1 writes down what was said
// instead; read the difference before believing it.

#include "tests/sim/two_sided.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tensorhub::fault {
namespace {

std::vector<std::string> ScriptNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(PROTOCOL)) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class TwoSidedTest : public testing::TestWithParam<std::string> {};

TEST_P(TwoSidedTest, GoesAsWritten) {
  const std::string path = std::string(PROTOCOL) + "/" + GetParam() + ".txt";
  std::stringstream written;
  written << std::ifstream(path).rdbuf();
  const std::string came = TwoSided().Replay(written.str());
  if (std::getenv("TENSORHUB_REWRITE") != nullptr) {
    std::ofstream(path) << came;
    return;
  }
  EXPECT_EQ(came, written.str());
}

INSTANTIATE_TEST_SUITE_P(All, TwoSidedTest, testing::ValuesIn(ScriptNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tensorhub::fault
