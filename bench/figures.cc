// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/figures.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/check.h"
#include "tools/ctl/table.h"

namespace tensorhub::bench {
namespace {

using nlohmann::ordered_json;

// Four digits, whatever the size, and never an exponent.
std::string Shown(double value) {
  const double size = std::fabs(value);
  if (size >= 100 || value == std::floor(value)) return absl::StrFormat("%.0f", value);
  if (size >= 10) return absl::StrFormat("%.1f", value);
  return size >= 0.1 ? absl::StrFormat("%.2f", value) : absl::StrFormat("%.4f", value);
}

std::string ShownAim(const Figure& figure) {
  return absl::StrFormat("%s %.2f", figure.better == Better::kHigher ? ">=" : "<=", figure.aim);
}

ordered_json FigureJson(const Figure& figure) {
  return {{"name", figure.name},
          {"value", figure.value},
          {"unit", figure.unit},
          {"limit", figure.limit},
          {"limit_name", figure.limit_name},
          {"ratio", figure.ratio()},
          {"better", figure.better == Better::kHigher ? "higher" : "lower"},
          {"aim", figure.aim},
          {"ok", figure.ok()}};
}

ctl::Cell Plain(const std::string& text) { return ctl::TextCell(text); }

}  // namespace

Figure BoundFigure(std::string name, double value, std::string unit, double bound) {
  return {.name = std::move(name),
          .value = value,
          .unit = std::move(unit),
          .limit = bound,
          .limit_name = "bound",
          .better = Better::kLower,
          .aim = 1};
}

std::string ProblemOf(const Report& report) {
  if (!report.skipped.empty()) return "";
  if (report.figures.empty()) return "nothing was measured";
  for (const Figure& figure : report.figures) {
    if (!(figure.limit > 0) || !std::isfinite(figure.limit)) {
      return absl::StrFormat("%s: its limit (%s) came out as %g", figure.name, figure.limit_name,
                             figure.limit);
    }
    if (!std::isfinite(figure.ratio())) {
      return absl::StrFormat("%s: came out as %g", figure.name, figure.value);
    }
  }
  for (const Beside& beside : report.beside) {
    if (!std::isfinite(beside.value)) {
      return absl::StrFormat("%s: came out as %g", beside.name, beside.value);
    }
  }
  return "";
}

std::vector<std::string> Implausible(const Report& report) {
  constexpr double kNoise = 1.1;
  std::vector<std::string> doubts;
  for (const Figure& figure : report.figures) {
    if (figure.better != Better::kHigher || figure.ratio() <= kNoise) continue;
    doubts.push_back(absl::StrFormat("%s is %.2f times its limit (%s): the limit was disturbed",
                                     figure.name, figure.ratio(), figure.limit_name));
  }
  return doubts;
}

void PrintJson(const Report& report, std::ostream& out) {
  ordered_json figures = ordered_json::array();
  for (const Figure& figure : report.figures) figures.push_back(FigureJson(figure));
  ordered_json beside = ordered_json::array();
  for (const Beside& item : report.beside) {
    beside.push_back(ordered_json{{"name", item.name}, {"value", item.value}, {"unit", item.unit}});
  }
  ordered_json object = {{"scenario", report.scenario},
                         {"figures", std::move(figures)},
                         {"beside", std::move(beside)},
                         {"notes", report.notes}};
  if (!report.skipped.empty()) object["skipped"] = report.skipped;
  ctl::PrintJson(object, out);
}

void PrintTable(const Report& report, std::ostream& out) {
  if (!report.machine.empty()) out << report.machine << "\n\n";
  if (!report.skipped.empty()) {
    out << "skipped: " << report.skipped << '\n';
    return;
  }
  ctl::Table figures("figures",
                     {{.key = "name", .title = "FIGURE"},
                      {.key = "value", .title = "VALUE", .right = true},
                      {.key = "unit", .title = "UNIT"},
                      {.key = "limit", .title = "LIMIT", .right = true},
                      {.key = "limit_name", .title = "OF"},
                      {.key = "ratio", .title = "RATIO", .right = true},
                      {.key = "aim", .title = "AIM"},
                      {.key = "ok", .title = "MARK"}},
                     "nothing was measured");
  ctl::Table beside("beside",
                    {{.key = "name", .title = "BESIDE"},
                     {.key = "value", .title = "VALUE", .right = true},
                     {.key = "unit", .title = "UNIT"}},
                    "");
  size_t ok = 0;
  for (const Figure& figure : report.figures) {
    ok += figure.ok() ? 1 : 0;
    figures.AddRow({Plain(figure.name), Plain(Shown(figure.value)), Plain(figure.unit),
                    Plain(Shown(figure.limit)), Plain(figure.limit_name),
                    Plain(absl::StrFormat("%.3f", figure.ratio())), Plain(ShownAim(figure)),
                    Plain(figure.ok() ? "ok" : "short")});
  }
  for (const Beside& item : report.beside) {
    beside.AddRow({Plain(item.name), Plain(Shown(item.value)), Plain(item.unit)});
  }
  figures.Print(ctl::OutputFormat::kTable, out);
  out << '\n';
  if (!report.beside.empty()) {
    beside.Print(ctl::OutputFormat::kTable, out);
    out << '\n';
  }
  for (const std::string& note : report.notes) out << "note: " << note << '\n';
  for (const std::string& doubt : report.doubts) out << "DOUBT: " << doubt << '\n';
  out << ok << " of " << report.figures.size() << " figures reach their aim\n";
}

double Median(std::vector<double> values) {
  TH_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

double Percentile(std::vector<double> values, double share) {
  TH_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace tensorhub::bench
