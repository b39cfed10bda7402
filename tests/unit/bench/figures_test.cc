// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tensorhub::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Figure Rate(double value, double limit) {
  return {.name = "served.tcp.300",
          .value = value,
          .unit = "GB/s",
          .limit = limit,
          .limit_name = "bare active messages",
          .better = Better::kHigher,
          .aim = 0.95};
}

Report TwoFigures() {
  Report report;
  report.scenario = "read";
  report.figures = {Rate(1.9, 4), BoundFigure("agent.idle", 0.5, "% CPU", 1)};
  report.beside = {{"memcpy", 12.5, "GB/s"}};
  report.notes = {"it went so"};
  return report;
}

std::string Table(const Report& report) {
  std::ostringstream out;
  PrintTable(report, out);
  return out.str();
}

TEST(FigureTest, HigherIsOkFromTheAimOn) {
  EXPECT_TRUE(Rate(95, 100).ok());
  EXPECT_TRUE(Rate(120, 100).ok());
  EXPECT_FALSE(Rate(94.9, 100).ok());
  EXPECT_DOUBLE_EQ(Rate(1.9, 4).ratio(), 0.475);
}

TEST(FigureTest, LowerIsOkUpToTheAim) {
  EXPECT_TRUE(BoundFigure("publish", 5, "ms", 5).ok());
  EXPECT_TRUE(BoundFigure("publish", 0, "ms", 5).ok());
  EXPECT_FALSE(BoundFigure("publish", 5.1, "ms", 5).ok());
  Figure time = BoundFigure("time", 1.2, "s", 1);
  time.aim = 1.2;
  EXPECT_TRUE(time.ok());
}

TEST(ReportTest, WhatWasSkippedSaysWhy) {
  Report report;
  report.scenario = "device";
  EXPECT_NE(ProblemOf(report), "");
  report.skipped = "there is no driver";
  EXPECT_EQ(ProblemOf(report), "");
  EXPECT_THAT(Table(report), HasSubstr("skipped: there is no driver\n"));
  std::ostringstream out;
  PrintJson(report, out);
  const auto object = nlohmann::json::parse(out.str());
  EXPECT_EQ(object.at("skipped"), "there is no driver");
  EXPECT_TRUE(object.at("figures").empty());
}

TEST(FigureTest, ABoundIsNamedSo) {
  const Figure figure = BoundFigure("publish", 1, "ms", 5);
  EXPECT_EQ(figure.limit_name, "bound");
  EXPECT_EQ(figure.aim, 1);
  EXPECT_EQ(figure.better, Better::kLower);
}

TEST(ReportTest, JsonIsOneLineWithTheFieldsOfTheContract) {
  std::ostringstream out;
  PrintJson(TwoFigures(), out);
  EXPECT_EQ(out.str().find('\n'), out.str().size() - 1);
  EXPECT_EQ(nlohmann::json::parse(out.str()), nlohmann::json::parse(R"({
    "scenario": "read",
    "figures": [
      {"name": "served.tcp.300", "value": 1.9, "unit": "GB/s", "limit": 4.0,
       "limit_name": "bare active messages", "ratio": 0.475, "better": "higher", "aim": 0.95,
       "ok": false},
      {"name": "agent.idle", "value": 0.5, "unit": "% CPU", "limit": 1.0, "limit_name": "bound",
       "ratio": 0.5, "better": "lower", "aim": 1.0, "ok": true}],
    "beside": [{"name": "memcpy", "value": 12.5, "unit": "GB/s"}],
    "notes": ["it went so"]})"));
}

TEST(ReportTest, TableMarksWhatFallsShort) {
  const std::string table = Table(TwoFigures());
  EXPECT_THAT(table, HasSubstr("0.475  >= 0.95  short\n"));
  EXPECT_THAT(table, HasSubstr("0.500  <= 1.00  ok\n"));
  EXPECT_THAT(table, HasSubstr("memcpy"));
  EXPECT_THAT(table, HasSubstr("1 of 2 figures reach their aim\n"));
}

TEST(ReportTest, TableShowsTheMachineAndNotes) {
  Report report = TwoFigures();
  report.machine = "a machine";
  report.notes = {"iperf3 is not installed"};
  EXPECT_TRUE(Table(report).starts_with("a machine\n"));
  EXPECT_THAT(Table(report), HasSubstr("note: iperf3 is not installed\n"));
}

TEST(ReportTest, WhatIsNoNumberIsAProblem) {
  EXPECT_THAT(ProblemOf(TwoFigures()), IsEmpty());
  EXPECT_THAT(ProblemOf(Report()), HasSubstr("nothing was measured"));
  Report report = TwoFigures();
  report.figures[0].limit = 0;
  EXPECT_THAT(ProblemOf(report), HasSubstr("served.tcp.300: its limit"));
  report = TwoFigures();
  report.figures[1].value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(ProblemOf(report), HasSubstr("agent.idle"));
  report = TwoFigures();
  report.beside[0].value = std::numeric_limits<double>::infinity();
  EXPECT_THAT(ProblemOf(report), HasSubstr("memcpy"));
}

TEST(ReportTest, WhatBeatsItsLimitIsDoubted) {
  Report report = TwoFigures();
  EXPECT_THAT(Implausible(report), IsEmpty());
  report.figures[0].value = 4.2;  // noise
  EXPECT_THAT(Implausible(report), IsEmpty());
  report.figures[0].value = 68;
  ASSERT_EQ(Implausible(report).size(), 1u);
  EXPECT_THAT(Implausible(report)[0], HasSubstr("served.tcp.300 is 17.00 times its limit"));
  report.doubts = Implausible(report);
  EXPECT_THAT(Table(report), HasSubstr("DOUBT: served.tcp.300"));
}

TEST(MedianTest, OddAndEven) {
  EXPECT_DOUBLE_EQ(Median({3}), 3);
  EXPECT_DOUBLE_EQ(Median({9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(Median({4, 1, 2, 100}), 3);
}

TEST(PercentileTest, TakesOneOfTheValues) {
  EXPECT_DOUBLE_EQ(Percentile({3}, 0.99), 3);
  EXPECT_DOUBLE_EQ(Percentile({4, 1, 3, 2, 5}, 0), 1);
  EXPECT_DOUBLE_EQ(Percentile({4, 1, 3, 2, 5}, 0.5), 3);
  EXPECT_DOUBLE_EQ(Percentile({4, 1, 3, 2, 5}, 0.99), 4);
  EXPECT_DOUBLE_EQ(Percentile({4, 1, 3, 2, 5}, 1), 5);
}

}  // namespace
}  // namespace tensorhub::bench
