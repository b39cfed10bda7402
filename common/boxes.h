// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Boxes of a tensor's elements, and how those that sources hold cut up one that a reader wants. The
// sources' boxes may overlap: they are a cover of the tensor, not a partition. Pure geometry: no
// names, no bytes.

#ifndef TENSORHUB_COMMON_BOXES_H_
#define TENSORHUB_COMMON_BOXES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tensorhub {

// [begin, end) along one dimension; begin <= end.
struct Interval {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t extent() const { return end - begin; }
  bool operator==(const Interval&) const = default;
  template <typename H>
  friend H AbslHashValue(H state, const Interval& along) {
    return H::combine(std::move(state), along.begin, along.end);
  }
};

// A box by dimension. Without dimensions: the one element of a scalar.
using Box = std::span<const Interval>;

bool IsEmpty(Box box);
// The order of the canonical byte space: by the first element, then by the last one.
bool IsBefore(Box a, Box b);
bool Intersect(Box a, Box b);
// Two of them (their indexes, the smaller first) that have an element in common. All have as many
// dimensions. Each pair that has to be held against each other takes one of `checks_left`; with
// none left it gives up.
std::optional<std::pair<size_t, size_t>> FindOverlap(std::span<const Box> boxes,
                                                     size_t& checks_left);
// "[0:4, 2:8]", for people.
std::string ShowBox(Box box);

// A box that somebody wants, cut into cells: each of the boxes given holds a cell whole or has
// nothing of it. The cells are disjoint and in order: along the first dimension, within that along
// the second, and so on. It keeps its memory from one Cut to the next.
class CellCutter {
 public:
  // kHole: no box holds the cell that hole() is then. kTooMany: more cells, or more holders of
  // cells, than `cells_max`.
  enum class Result { kCovered, kHole, kTooMany };

  // `boxes` have as many dimensions as `wanted`, which is not empty, and are not empty.
  Result Cut(Box wanted, std::span<const Box> boxes, size_t cells_max);

  size_t count() const { return holder_ends_.size(); }
  // The number of holders of all cells together.
  size_t holder_count() const { return holders_.size(); }
  Box cell(size_t i) const { return Box(cells_).subspan(i * dimensions_, dimensions_); }
  // Indexes into `boxes`, at least one.
  std::span<const uint32_t> holders(size_t i) const {
    const size_t begin = i == 0 ? 0 : holder_ends_[i - 1];
    return std::span(holders_).subspan(begin, holder_ends_[i] - begin);
  }
  Box hole() const { return cell_; }

 private:
  // What of `wanted` the slab at hand is, and which boxes hold all of it along the dimensions done.
  struct Level {
    std::vector<uint32_t> by_begin;
    std::vector<uint32_t> open;
    std::vector<uint64_t> edges;
  };

  Result CutAlong(size_t dimension, std::span<const uint32_t> active);
  Result CutSlabs(size_t dimension, Level& level);
  Result Emit(std::span<const uint32_t> active);
  void FindEdges(size_t dimension, std::span<const uint32_t> active, Level& level) const;

  Box wanted_;
  std::span<const Box> boxes_;
  size_t cells_max_ = 0;
  size_t dimensions_ = 0;
  std::vector<Level> levels_;
  std::vector<Interval> cell_;
  std::vector<Interval> cells_;
  std::vector<uint32_t> holders_;
  std::vector<size_t> holder_ends_;
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_BOXES_H_
