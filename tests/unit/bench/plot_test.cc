// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tensorhub::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

using Key = std::pair<std::string, std::string>;

Plot TwoReaders() {
  Plot plot{.title = "a < b", .bytes = 100};
  plot.sources = {{"model-1/0", "trainer"}, {"model-2/0", "h2"}};
  plot.lines.push_back({"h2", {{0, 0, "-"}, {1, 60, "model-1/0"}, {2, 100, "-"}}});
  plot.lines.push_back({"h3", {{0, 10, "model-1/0"}, {1, 50, "model-2/0"}, {2, 100, "-"}}});
  return plot;
}

TEST(PlotTest, BytesCountForTheSourceTheyWereReadFrom) {
  EXPECT_THAT(BytesBySource(TwoReaders()),
              ElementsAre(Pair(Key("h2", "trainer"), 100), Pair(Key("h3", "h2"), 90),
                          Pair(Key("h3", "trainer"), 10)));
}

TEST(PlotTest, AReaderThatLostItsBytesIsNotCountedTwice) {
  Plot plot = TwoReaders();
  plot.lines = {{"h2", {{0, 50, "model-1/0"}, {1, 20, "model-1/0"}, {2, 80, "model-1/0"}}}};
  EXPECT_THAT(BytesBySource(plot), ElementsAre(Pair(Key("h2", "trainer"), 80)));
}

TEST(PlotTest, ThePictureShowsLinesAndTreeAndEscapesNames) {
  const std::string svg = ToSvg(TwoReaders());
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr("<polyline"));
  EXPECT_THAT(svg, HasSubstr(">trainer</text>"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(PlotTest, NothingToDrawIsNoError) {
  EXPECT_THAT(ToSvg({.title = "none", .bytes = 1, .lines = {{"h2", {}}}}), HasSubstr(">h2</text>"));
}

TEST(PlotTest, ASourceOfWhichNothingElseIsKnownHasItsBoxToo) {
  Plot plot = TwoReaders();
  plot.lines.pop_back();
  plot.lines[0].points[1].source = "lost/0";
  EXPECT_THAT(ToSvg(plot), HasSubstr(">lost/0</text>"));
}

TEST(PlotTest, ReadersThatFedEachOtherAreDrawnOnce) {
  Plot plot{.title = "exchange", .bytes = 100};
  plot.lines = {{"h2", {{0, 0, "h3"}, {1, 60, "h3"}}}, {"h3", {{0, 0, "h2"}, {1, 60, "h2"}}}};
  const std::string svg = ToSvg(plot);
  EXPECT_THAT(svg, HasSubstr(">h2</text>"));
  EXPECT_THAT(svg, HasSubstr(">h3</text>"));
}

TEST(PlotTest, AChainLongerThanThePageGoesOnInTheNextRow) {
  Plot plot{.title = "chain", .bytes = 100};
  std::string source = "trainer";
  for (int i = 10; i < 34; ++i) {
    const std::string name = "h" + std::to_string(i);
    plot.lines.push_back({name, {{0, 0, source}, {1, 100, source}}});
    source = name;
  }
  const std::string svg = ToSvg(plot);
  EXPECT_THAT(svg, HasSubstr(">h33</text>"));
  EXPECT_THAT(svg, HasSubstr("width=\"960\""));
  EXPECT_THAT(svg, Not(HasSubstr("<rect x=\"9")));  // no box begins beyond the page
}

TEST(PlotTest, AFileThatCannotBeWrittenIsNamed) {
  EXPECT_THAT(std::string(WritePlot(TwoReaders(), "/nowhere/a.svg").message()),
              HasSubstr("/nowhere/a.svg cannot be written"));
}

}  // namespace
}  // namespace tensorhub::bench
