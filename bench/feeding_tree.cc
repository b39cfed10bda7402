// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/feeding_tree.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/svg.h"

namespace tensorhub::bench {
namespace {

constexpr size_t kColumns = 10;
constexpr double kColumnWidth = 86;
constexpr double kRowHeight = 44;
constexpr double kBoxWidth = 60;
constexpr double kBoxHeight = 20;
constexpr double kCaptionHeight = 30;
constexpr char kRoot[] = "trainer";
constexpr char kGrey[] = "#777";
constexpr char kHead[] = "marker-end=\"url(#head)\"";

double MiddleOf(size_t row, double top) {
  return top + kCaptionHeight + kRowHeight * static_cast<double>(row);
}

}  // namespace

FeedingTree::FeedingTree(const Plot& plot, double left)
    : plot_(plot), left_(left), fed_(BytesBySource(plot)) {
  for (size_t i = 0; i < plot.lines.size(); ++i) colors_[plot.lines[i].name] = SeriesColor(i);
  FindParents();
  Place(kRoot, 0);
  // Fed by somebody of whom nothing was noted, or by nobody; last, those that fed each other.
  for (const auto& [pair, bytes] : fed_) {
    if (!parents_.contains(pair.second)) Place(pair.second, 0);
  }
  for (const Plot::Line& line : plot.lines) Place(line.name, 0);
}

double FeedingTree::height() const {
  return kCaptionHeight + kRowHeight * static_cast<double>(rows_);
}

void FeedingTree::FindParents() {
  for (const auto& [pair, bytes] : fed_) {
    const auto& [reader, source] = pair;
    const auto parent = parents_.find(reader);
    if (parent == parents_.end() || fed_.at({reader, parent->second}) < bytes) {
      parents_[reader] = source;
    }
  }
}

void FeedingTree::Place(const std::string& name, size_t column) {
  if (spots_.contains(name)) return;
  if (column == kColumns) {
    ++rows_;
    column = 1;
  }
  spots_[name] = {column, rows_};
  bool first = true;
  for (const auto& [reader, source] : parents_) {
    if (source != name || spots_.contains(reader)) continue;
    if (!first) ++rows_;
    first = false;
    Place(reader, column + 1);
  }
  if (column == 0) ++rows_;
}

double FeedingTree::X(const Spot& spot) const {
  return left_ + kColumnWidth * static_cast<double>(spot.column);
}

std::string FeedingTree::Arrow(const Spot& from, const Spot& to, double share, double top) const {
  const double x = X(from) + kBoxWidth;
  const double y = MiddleOf(from.row, top);
  const double end = X(to) - 5;
  const std::string way = from.row == to.row
                              ? absl::StrFormat("M%.1f,%.1f H%.1f", x, y, end)
                              : absl::StrFormat("M%.1f,%.1f h6 V%.1f H%.1f V%.1f H%.1f", x, y,
                                                MiddleOf(to.row, top) - kRowHeight / 2, X(to) - 16,
                                                MiddleOf(to.row, top), end);
  return Path(way, kGrey, 0.5 + 3 * share, kHead);
}

std::string FeedingTree::DashedArrow(const Spot& from, const Spot& to, double top) const {
  const double x1 = X(from) + kBoxWidth / 2;
  const double x2 = X(to) + kBoxWidth / 2;
  const double y1 = MiddleOf(from.row, top) + kBoxHeight / 2;
  const double y2 = MiddleOf(to.row, top) + kBoxHeight / 2;
  return Path(absl::StrFormat("M%.1f,%.1f Q%.1f,%.1f %.1f,%.1f", x1, y1, (x1 + x2) / 2,
                              std::max(y1, y2) + kRowHeight / 2, x2, y2 + 4),
              kGrey, 1, absl::StrCat("stroke-dasharray=\"4,3\" ", kHead));
}

std::string FeedingTree::Box(const std::string& name, const Spot& spot, double top) const {
  const auto color = colors_.find(name);
  return absl::StrFormat(
             "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" fill=\"white\" "
             "stroke=\"%s\"/>\n",
             X(spot), MiddleOf(spot.row, top) - kBoxHeight / 2, kBoxWidth, kBoxHeight,
             color == colors_.end() ? kGrey : color->second) +
         Text(X(spot) + kBoxWidth / 2, MiddleOf(spot.row, top) + 4, name, "text-anchor=\"middle\"");
}

std::string FeedingTree::Draw(double top) const {
  std::string svg =
      "<defs><marker id=\"head\" viewBox=\"0 0 6 6\" refX=\"2\" refY=\"3\" markerWidth=\"7\" "
      "markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
      "<path d=\"M0,0 L6,3 L0,6 Z\" fill=\"#777\"/></marker></defs>\n";
  svg += Text(left_, top, "who fed whom (dashed: the smaller part of what a reader received)",
              absl::StrCat("fill=\"", kGrey, "\""));
  for (const auto& [pair, bytes] : fed_) {
    const Spot& from = spots_.at(pair.second);
    const Spot& to = spots_.at(pair.first);
    const bool main = parents_.at(pair.first) == pair.second;
    svg += main ? Arrow(from, to, plot_.bytes > 0 ? bytes / plot_.bytes : 0, top)
                : DashedArrow(from, to, top);
  }
  for (const auto& [name, spot] : spots_) svg += Box(name, spot, top);
  return svg;
}

}  // namespace tensorhub::bench
