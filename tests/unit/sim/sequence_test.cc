// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// docs/protocol/sequences.md is what the cores say. TENSORHUB_REWRITE=1 writes it anew, to be
// reviewed as a difference.

#include "tests/sim/sequence.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace tensorhub::fault {
namespace {

TEST(SequenceTest, ThePageIsWhatIsSaid) {
  const std::string path = std::string(DOCS) + "/protocol/sequences.md";
  const std::string page = SequencesPage();
  if (std::getenv("TENSORHUB_REWRITE") != nullptr) std::ofstream(path) << page;
  std::stringstream written;
  written << std::ifstream(path).rdbuf();
  EXPECT_EQ(page, written.str());
}

TEST(SequenceTest, ItIsTheSameEachTime) { EXPECT_EQ(SequencesPage(), SequencesPage()); }

}  // namespace
}  // namespace tensorhub::fault
