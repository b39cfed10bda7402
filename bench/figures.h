// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a scenario found out: figures, each held against a limit that was measured in the same run
// (or against a bound where nature sets none), and numbers shown beside them for comparison.
// Printed as a table for people or as one JSON object (docs/benchmarks.md).

#ifndef TENSORHUB_BENCH_FIGURES_H_
#define TENSORHUB_BENCH_FIGURES_H_

#include <iosfwd>
#include <string>
#include <vector>

namespace tensorhub::bench {

enum class Better { kHigher, kLower };

struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
  double limit = 0;  // above 0
  std::string limit_name;
  Better better = Better::kHigher;
  double aim = 1;

  double ratio() const { return value / limit; }
  bool ok() const { return better == Better::kHigher ? ratio() >= aim : ratio() <= aim; }
};

// A figure that is held against the bound asked for.
Figure BoundFigure(std::string name, double value, std::string unit, double bound);

struct Beside {
  std::string name;
  double value = 0;
  std::string unit;
};

struct Report {
  std::string scenario;
  std::vector<Figure> figures;
  std::vector<Beside> beside;
  std::string machine;              // for people only
  std::vector<std::string> notes;   // for people only: what was left out, and why
  std::vector<std::string> doubts;  // why the figures should not be believed; also on stderr
  // Why nothing was measured, where this machine lacks what it takes: no figures then.
  std::string skipped;
};

// What makes the report worthless (a value or limit that is no finite number, a limit of 0), or
// empty.
std::string ProblemOf(const Report& report);

// Figures that beat a limit which nothing can beat: then the limit was disturbed, not reached.
std::vector<std::string> Implausible(const Report& report);

void PrintJson(const Report& report, std::ostream& out);
void PrintTable(const Report& report, std::ostream& out);

// The median; of an even number the mean of the two in the middle. `values` is not empty.
double Median(std::vector<double> values);
// The value below which `share` (0 to 1) of the values lie. `values` is not empty.
double Percentile(std::vector<double> values, double share);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_FIGURES_H_
