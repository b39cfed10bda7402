// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// docs/protocol/states.md is what the cores do. TENSORHUB_REWRITE=1 writes it anew, to be reviewed
// as a difference. Between what must be on the page and what may be there is room, so that a change
// of the cores which only throws other dice is no change of the page.

#include "tests/sim/state_page.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/sim/seed_run.h"

namespace tensorhub::fault {
namespace {

constexpr uint64_t kSeeds = 40;
constexpr uint64_t kIsDrawn = 6;  // seen so often, an arrow is written down
constexpr uint64_t kMustBeThere = 40;

std::map<Arrow, uint64_t> Seen() {
  StateWatch watch;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SeedOptions options;
    options.seed = seed;
    options.seconds = 120;
    options.states = &watch;
    const SeedResult result = RunSeed(options);
    EXPECT_FALSE(result.violation)
        << result.violation->rule << ": " << result.violation->text
        << "; again: tensorhub-sim check --seed " << seed << " --seeds 1 --seconds 120";
    watch.OnRunEnd();
  }
  return watch.arrows();
}

std::set<std::string> ArrowsOf(const std::vector<StateRow>& rows) {
  std::set<std::string> arrows;
  for (const StateRow& row : rows) {
    const std::string arrow = absl::StrCat(row.machine, ": ", row.from, " -> ", row.to);
    arrows.insert(arrow);
    for (const std::string& cause : row.causes) {
      if (cause != kSeveral) arrows.insert(absl::StrCat(arrow, " by ", cause));
    }
  }
  return arrows;
}

TEST(StatePageTest, ThePageIsWhatIsDone) {
  const std::map<Arrow, uint64_t> seen = Seen();
  const std::string path = std::string(DOCS) + "/protocol/states.md";
  if (std::getenv("TENSORHUB_REWRITE") != nullptr) {
    std::ofstream(path) << StatesPage(RowsOf(seen, kIsDrawn));
  }
  std::stringstream written;
  written << std::ifstream(path).rdbuf();
  const std::vector<StateRow> rows = RowsIn(written.str());
  EXPECT_EQ(StatesPage(rows), written.str()) << "a diagram and its table differ";
  const std::set<std::string> drawn = ArrowsOf(rows);
  const std::set<std::string> may_be_there = ArrowsOf(RowsOf(seen, 1));
  for (const std::string& arrow : drawn) {
    EXPECT_TRUE(may_be_there.contains(arrow)) << "never taken: " << arrow;
  }
  for (const std::string& arrow : ArrowsOf(RowsOf(seen, kMustBeThere))) {
    EXPECT_TRUE(drawn.contains(arrow)) << "often taken, and not on the page: " << arrow;
  }
}

}  // namespace
}  // namespace tensorhub::fault
