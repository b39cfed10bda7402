// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Replays scenarios/*.txt and compares the text. TENSORHUB_REWRITE=1 writes down what came out
// instead; read the difference before believing it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/unit/server/core/hub_script.h"

namespace tensorhub::hub {
namespace {

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(SCENARIOS)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class ScenariosTest : public testing::TestWithParam<std::string> {};

TEST_P(ScenariosTest, GoesAsWritten) {
  const std::string path = std::string(SCENARIOS) + "/" + GetParam() + ".txt";
  std::stringstream written;
  written << std::ifstream(path).rdbuf();
  const std::string came = HubScript().Replay(written.str());
  if (std::getenv("TENSORHUB_REWRITE") != nullptr) {
    std::ofstream(path) << came;
    return;
  }
  EXPECT_EQ(came, written.str());
}

INSTANTIATE_TEST_SUITE_P(All, ScenariosTest, testing::ValuesIn(Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tensorhub::hub
