// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/progress_bar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace tensorhub::ctl {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;
const ProgressBar::Clock::time_point kStart{};

TEST(ProgressBarTest, ShowsBytesRateTimeLeftAndNote) {
  const ProgressState state{
      .label = "fetching", .done = kGiB, .total = 4 * kGiB, .seconds = 2, .note = "from t/0"};
  EXPECT_EQ(RenderLine(state),
            "fetching 25%  1.0 GiB of 4.0 GiB  0.54 GB/s  6.00 s left  from t/0");
  EXPECT_EQ(RenderBar(state, 120),
            "fetching [#######-----------------------] 25%  1.0 GiB of 4.0 GiB  0.54 GB/s  "
            "6.00 s left  from t/0");
}

TEST(ProgressBarTest, NeverWiderThanTheTerminal) {
  const ProgressState state{
      .label = "fetching", .done = 1, .total = 3, .seconds = 2, .note = std::string(200, 'n')};
  for (size_t columns = 0; columns < 200; ++columns) {
    EXPECT_LE(RenderBar(state, columns).size(), columns);
  }
}

TEST(ProgressBarTest, NothingToDoAndMoreThanAllAreWhole) {
  EXPECT_THAT(RenderBar(ProgressState(), 100), HasSubstr("100%"));
  EXPECT_THAT(RenderBar({.label = "x", .done = 9, .total = 3, .seconds = 1, .note = ""}, 100),
              HasSubstr("100%"));
}

TEST(ProgressBarTest, ATerminalIsDrawnOverALogIsNot) {
  std::ostringstream terminal;
  {
    ProgressBar bar({.label = "x", .total = 10, .terminal = true}, terminal, kStart);
    bar.Update(1, "", kStart);
    bar.Update(2, "", kStart + milliseconds(1));  // too soon to be worth drawing
    bar.Update(3, "", kStart + milliseconds(200));
  }
  const std::string drawn = terminal.str();
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), '\r'), 3);  // two bars and the removal
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), '\n'), 0);

  std::ostringstream log;
  ProgressBar bar({.label = "x", .total = 10}, log, kStart);
  bar.Update(1, "", kStart + milliseconds(10));
  EXPECT_EQ(log.str(), "");
  bar.Update(5, "", kStart + milliseconds(2500));
  EXPECT_EQ(log.str(), "x 50%  5 B of 10 B  0.00 GB/s  2.50 s left\n");
}

}  // namespace
}  // namespace tensorhub::ctl
