// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A broadcast as a picture (SVG): bytes over time, a line per reader, and the tree of who fed whom.

#ifndef TENSORHUB_BENCH_PLOT_H_
#define TENSORHUB_BENCH_PLOT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tensorhub::bench {

struct Plot {
  struct Point {
    double seconds = 0;
    double bytes = 0;
    std::string source;  // whom the reader was reading from; "-": nobody
  };
  struct Line {
    std::string name;
    std::vector<Point> points = {};
  };
  std::string title;
  double bytes = 0;  // of the whole
  std::vector<Line> lines = {};
  std::map<std::string, std::string> sources = {};  // how points name them: how lines do
};

// How many bytes each reader had from each source: {reader, source} -> bytes. What came between two
// points counts for the source of the later one, or of the earlier one if that has none.
std::map<std::pair<std::string, std::string>, double> BytesBySource(const Plot& plot);

std::string ToSvg(const Plot& plot);
// UNAVAILABLE: the file cannot be written.
absl::Status WritePlot(const Plot& plot, const std::string& file);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_PLOT_H_
