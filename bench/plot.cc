// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/plot.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/feeding_tree.h"
#include "bench/svg.h"

namespace tensorhub::bench {
namespace {

constexpr double kWidth = 960;
constexpr double kChartHeight = 360;
constexpr double kLeft = 70;
constexpr double kRight = 90;
constexpr double kTop = 40;
constexpr double kLegendStep = 15;

double LastSecond(const Plot& plot) {
  double last = 0;
  for (const Plot::Line& line : plot.lines) {
    if (!line.points.empty()) last = std::max(last, line.points.back().seconds);
  }
  return last > 0 ? last : 1;
}

// Divides the axis into at least four parts of 1, 2 or 5 times a power of ten.
double Step(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 4)));
  const double factor = range / 4 / power;
  return power * (factor >= 5 ? 5 : factor >= 2 ? 2 : 1);
}

class Chart {
 public:
  explicit Chart(const Plot& plot) : plot_(plot), seconds_(LastSecond(plot)) {}

  std::string Draw() const {
    std::string svg = Axes();
    for (size_t i = 0; i < plot_.lines.size(); ++i) {
      svg += DrawLine(plot_.lines[i], SeriesColor(i));
      // All end at about the same place, so the names have a column of their own.
      svg += Text(kWidth - kRight + 16, kTop + kLegendStep * (static_cast<double>(i) + 0.5),
                  plot_.lines[i].name, absl::StrFormat("fill=\"%s\"", SeriesColor(i)));
    }
    return svg;
  }

 private:
  double X(double seconds) const { return kLeft + seconds / seconds_ * (kWidth - kLeft - kRight); }
  double Y(double bytes) const { return kTop + kChartHeight * (1 - bytes / plot_.bytes); }

  std::string Axes() const {
    std::string svg;
    for (double at = 0; at <= seconds_; at += Step(seconds_)) {
      svg += Segment(X(at), kTop, X(at), kTop + kChartHeight, "#ddd", 1);
      svg += Text(X(at), kTop + kChartHeight + 18, absl::StrFormat("%g s", at),
                  "text-anchor=\"middle\"");
    }
    const double mb = plot_.bytes / 1e6;
    for (double at = 0; at <= mb; at += Step(mb)) {
      svg += Segment(kLeft, Y(at * 1e6), kWidth - kRight, Y(at * 1e6), "#ddd", 1);
      svg += Text(kLeft - 6, Y(at * 1e6) + 4, absl::StrFormat("%g MB", at), "text-anchor=\"end\"");
    }
    return svg;
  }

  std::string DrawLine(const Plot::Line& line, const std::string& color) const {
    if (line.points.empty()) return "";
    std::string points;
    for (const Plot::Point& point : line.points) {
      absl::StrAppendFormat(&points, "%.1f,%.1f ", X(point.seconds), Y(point.bytes));
    }
    return absl::StrFormat(
        "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", points,
        color);
  }

  const Plot& plot_;
  const double seconds_;
};

std::string NameOf(const Plot& plot, const std::string& source) {
  const auto found = plot.sources.find(source);
  return found == plot.sources.end() ? source : found->second;
}

}  // namespace

std::map<std::pair<std::string, std::string>, double> BytesBySource(const Plot& plot) {
  std::map<std::pair<std::string, std::string>, double> fed;
  for (const Plot::Line& line : plot.lines) {
    double before = 0;
    std::string source = "-";
    for (const Plot::Point& point : line.points) {
      if (point.source != "-") source = point.source;
      const double bytes = std::max(0.0, point.bytes - before);
      before = std::max(before, point.bytes);
      if (bytes > 0 && source != "-") fed[{line.name, NameOf(plot, source)}] += bytes;
    }
  }
  return fed;
}

std::string ToSvg(const Plot& plot) {
  const double tree_top = kTop + kChartHeight + 60;
  const FeedingTree tree(plot, kLeft);
  return absl::StrFormat(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n"
             "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
             kWidth, tree_top + tree.height() + 20) +
         Text(kLeft, 24, plot.title, "font-size=\"15\"") + Chart(plot).Draw() +
         tree.Draw(tree_top) + "</svg>\n";
}

absl::Status WritePlot(const Plot& plot, const std::string& file) {
  std::ofstream out(file);
  out << ToSvg(plot);
  out.close();
  if (out) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("--plot: ", file, " cannot be written"));
}

}  // namespace tensorhub::bench
