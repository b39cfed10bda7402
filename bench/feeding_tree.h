// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Who fed whom, as boxes and arrows: each reader right of the source that gave it most; a dashed
// arrow from every other source. Arrows are as wide as their share of the whole. A chain that is
// longer than the page goes on in the next row.

#ifndef TENSORHUB_BENCH_FEEDING_TREE_H_
#define TENSORHUB_BENCH_FEEDING_TREE_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "bench/plot.h"

namespace tensorhub::bench {

class FeedingTree {
 public:
  // `plot` outlives the tree; `left`: x of the first column.
  FeedingTree(const Plot& plot, double left);

  double height() const;
  std::string Draw(double top) const;

 private:
  struct Spot {
    size_t column = 0;
    size_t row = 0;
  };
  double X(const Spot& spot) const;
  void FindParents();
  void Place(const std::string& name, size_t column);
  std::string Arrow(const Spot& from, const Spot& to, double share, double top) const;
  std::string DashedArrow(const Spot& from, const Spot& to, double top) const;
  std::string Box(const std::string& name, const Spot& spot, double top) const;

  const Plot& plot_;
  const double left_;
  const std::map<std::pair<std::string, std::string>, double> fed_;  // {reader, source} -> bytes
  std::map<std::string, std::string> parents_;
  std::map<std::string, std::string> colors_;
  std::map<std::string, Spot> spots_;
  size_t rows_ = 0;
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_FEEDING_TREE_H_
