// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/boxes.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tensorhub {
namespace {

// Along which the boxes begin at the most places, so that a sweep has the fewest open at a time.
size_t BestDimension(std::span<const Box> boxes) {
  size_t best = 0, most = 0;
  std::vector<uint64_t> begins(boxes.size());
  for (size_t d = 0; d < boxes.front().size(); ++d) {
    for (size_t i = 0; i < boxes.size(); ++i) begins[i] = boxes[i][d].begin;
    std::sort(begins.begin(), begins.end());
    const auto distinct = std::unique(begins.begin(), begins.end()) - begins.begin();
    if (static_cast<size_t>(distinct) <= most) continue;
    most = static_cast<size_t>(distinct);
    best = d;
  }
  return best;
}

}  // namespace

bool IsEmpty(Box box) {
  return std::any_of(box.begin(), box.end(), [](Interval along) { return along.extent() == 0; });
}

bool IsBefore(Box a, Box b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].begin != b[i].begin) return a[i].begin < b[i].begin;
  }
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](Interval x, Interval y) { return x.end < y.end; });
}

bool Intersect(Box a, Box b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::max(a[i].begin, b[i].begin) >= std::min(a[i].end, b[i].end)) return false;
  }
  return true;
}

// A sweep along one dimension: each box is held against those that reach beyond its begin.
std::optional<std::pair<size_t, size_t>> FindOverlap(std::span<const Box> boxes,
                                                     size_t& checks_left) {
  if (boxes.size() < 2) return std::nullopt;
  if (boxes.front().empty()) return std::pair<size_t, size_t>(0, 1);  // the same scalar
  const size_t along = BestDimension(boxes);
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return boxes[a][along].begin < boxes[b][along].begin;
  });
  std::vector<size_t> open;
  for (size_t next : order) {
    std::erase_if(open, [&](size_t i) { return boxes[i][along].end <= boxes[next][along].begin; });
    for (size_t i : open) {
      if (checks_left == 0) return std::nullopt;
      --checks_left;
      if (Intersect(boxes[i], boxes[next])) return std::minmax(i, next);
    }
    if (!IsEmpty(boxes[next])) open.push_back(next);
  }
  return std::nullopt;
}

std::string ShowBox(Box box) {
  const auto show = [](std::string* out, Interval along) {
    absl::StrAppend(out, along.begin, ":", along.end);
  };
  return absl::StrCat("[", absl::StrJoin(box, ", ", show), "]");
}

CellCutter::Result CellCutter::Cut(Box wanted, std::span<const Box> boxes, size_t cells_max) {
  wanted_ = wanted;
  boxes_ = boxes;
  cells_max_ = cells_max;
  dimensions_ = wanted.size();
  if (levels_.size() < dimensions_ + 1) levels_.resize(dimensions_ + 1);
  cell_.assign(wanted.begin(), wanted.end());
  cells_.clear();
  holders_.clear();
  holder_ends_.clear();
  // The level after the last dimension lends its memory for the list of those that matter at all.
  std::vector<uint32_t> active;
  std::swap(active, levels_[dimensions_].open);
  active.clear();
  for (uint32_t i = 0; i < boxes.size(); ++i) {
    if (Intersect(boxes[i], wanted)) active.push_back(i);
  }
  const Result result = active.empty() ? Result::kHole : CutAlong(0, active);
  std::swap(active, levels_[dimensions_].open);
  return result;
}

CellCutter::Result CellCutter::Emit(std::span<const uint32_t> active) {
  if (count() == cells_max_ || holders_.size() + active.size() > cells_max_) {
    return Result::kTooMany;
  }
  cells_.insert(cells_.end(), cell_.begin(), cell_.end());
  holders_.insert(holders_.end(), active.begin(), active.end());
  holder_ends_.push_back(holders_.size());
  return Result::kCovered;
}

// Where one of the boxes begins or ends inside of what is wanted, and the wanted's own two ends.
void CellCutter::FindEdges(size_t dimension, std::span<const uint32_t> active, Level& level) const {
  const Interval wanted = wanted_[dimension];
  level.edges.assign({wanted.begin, wanted.end});
  for (uint32_t i : active) {
    const Interval along = boxes_[i][dimension];
    if (along.begin > wanted.begin) level.edges.push_back(along.begin);
    if (along.end < wanted.end) level.edges.push_back(along.end);
  }
  if (level.edges.size() == 2) return;  // every box spans it: nothing is cut
  std::sort(level.edges.begin(), level.edges.end());
  level.edges.erase(std::unique(level.edges.begin(), level.edges.end()), level.edges.end());
}

CellCutter::Result CellCutter::CutAlong(size_t dimension, std::span<const uint32_t> active) {
  if (dimension == dimensions_) return Emit(active);
  Level& level = levels_[dimension];
  FindEdges(dimension, active, level);
  cell_[dimension] = wanted_[dimension];
  if (level.edges.size() == 2) return CutAlong(dimension + 1, active);
  level.by_begin.assign(active.begin(), active.end());
  const auto begins_before = [&](uint32_t a, uint32_t b) {
    return boxes_[a][dimension].begin < boxes_[b][dimension].begin;
  };
  if (!std::is_sorted(level.by_begin.begin(), level.by_begin.end(), begins_before)) {
    std::stable_sort(level.by_begin.begin(), level.by_begin.end(), begins_before);
  }
  return CutSlabs(dimension, level);
}

// A sweep: `open` are the boxes that hold the slab between two edges.
CellCutter::Result CellCutter::CutSlabs(size_t dimension, Level& level) {
  level.open.clear();
  size_t next = 0;
  for (size_t i = 0; i + 1 < level.edges.size(); ++i) {
    const Interval slab = {level.edges[i], level.edges[i + 1]};
    std::erase_if(level.open, [&](uint32_t b) { return boxes_[b][dimension].end <= slab.begin; });
    for (; next < level.by_begin.size(); ++next) {
      if (boxes_[level.by_begin[next]][dimension].begin > slab.begin) break;
      level.open.push_back(level.by_begin[next]);
    }
    cell_[dimension] = slab;
    if (level.open.empty()) {
      const Box rest = wanted_.subspan(dimension + 1);
      std::copy(rest.begin(), rest.end(), cell_.end() - static_cast<ptrdiff_t>(rest.size()));
      return Result::kHole;
    }
    if (Result result = CutAlong(dimension + 1, level.open); result != Result::kCovered) {
      return result;
    }
  }
  return Result::kCovered;
}

}  // namespace tensorhub
