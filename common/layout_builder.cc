// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/layout_builder.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"

namespace tensorhub {
namespace {

using Entry = Layout::Entry;

constexpr size_t kTensorNameBytesMax = 4096;
// What of an encoding comes before the tensors, and of a tensor beside its name and its numbers.
constexpr size_t kEncodedHeadBytes = 8;
constexpr size_t kEncodedTensorHeadBytes = 4 + 1 + 1 + 4;
// Pairs of boxes of one name that are held against each other, in a whole layout: a tenth of a
// second. Boxes in a row cost one each.
constexpr size_t kOverlapChecksMax = size_t{1} << 22;

absl::Status Bad(std::string_view name, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("tensor ", Shown(name), " ", why));
}

// The canonical order.
bool ComesBefore(const Entry& a, const Entry& b) {
  if (a.name != b.name) return a.name < b.name;
  const auto by = [](std::span<const uint64_t> x, std::span<const uint64_t> y) {
    return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
  };
  if (const auto order = by(a.slice_offset, b.slice_offset); order != 0) return order < 0;
  return by(a.shape, b.shape) < 0;
}

bool AreSame(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

absl::Status CheckSlice(const Entry& tensor) {
  const size_t dims = tensor.shape.size();
  if (tensor.global_shape.size() != dims || tensor.slice_offset.size() != dims) {
    return Bad(tensor.name, "has a slice with another number of dimensions than its shape");
  }
  for (size_t i = 0; i < dims; ++i) {
    uint64_t end = 0;
    const bool overflow = __builtin_add_overflow(tensor.slice_offset[i], tensor.shape[i], &end);
    if (overflow || end > tensor.global_shape[i]) {
      return Bad(tensor.name,
                 absl::StrCat("has a slice outside its global shape in dimension ", i));
    }
  }
  if (!BitsOfArray(tensor.global_shape, tensor.dtype)) {
    return Bad(tensor.name, "has a global shape whose size overflows");
  }
  return absl::OkStatus();
}

absl::Status CheckTensor(const Entry& tensor) {
  if (tensor.name.empty()) return absl::InvalidArgumentError("a tensor has an empty name");
  if (tensor.name.size() > kTensorNameBytesMax) {
    return Bad(tensor.name,
               absl::StrCat("has a name of more than ", kTensorNameBytesMax, " bytes"));
  }
  if (BitsOf(tensor.dtype) == 0) return Bad(tensor.name, "has no known dtype");
  if (tensor.shape.size() > kTensorDimensionsMax) {
    return Bad(tensor.name, absl::StrCat("has more than ", kTensorDimensionsMax, " dimensions"));
  }
  return tensor.is_slice ? CheckSlice(tensor) : absl::OkStatus();
}

// The box of a slice, behind those that are there.
void AppendBox(const Entry& slice, std::vector<Interval>& intervals) {
  for (size_t i = 0; i < slice.shape.size(); ++i) {
    intervals.push_back({slice.slice_offset[i], slice.slice_offset[i] + slice.shape[i]});
  }
}

// Whether both can be boxes of one tensor, which neighbours in the canonical order must be.
absl::Status CheckSameTensor(const Entry& a, const Entry& b) {
  if (!a.is_slice && !b.is_slice) return Bad(a.name, "is there twice");
  if (a.is_slice != b.is_slice) return Bad(a.name, "is there with a slice and without one");
  if (a.dtype != b.dtype || !AreSame(a.global_shape, b.global_shape)) {
    return Bad(a.name, "has slices that differ in dtype or global shape");
  }
  if (!ComesBefore(a, b)) {
    std::vector<Interval> box;
    AppendBox(a, box);
    return Bad(a.name, absl::StrCat("is there twice with the same slice ", ShowBox(box)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TooManyTensors(size_t count) {
  return absl::InvalidArgumentError(
      absl::StrCat("a layout of ", count, " tensors; at most ", kLayoutTensorsMax));
}

Entry ViewOf(const TensorSpec& tensor) {
  Entry view;
  view.name = tensor.name;
  view.dtype = tensor.dtype;
  view.shape = tensor.shape;
  view.is_slice = tensor.slice.has_value();
  view.global_shape = tensor.slice ? tensor.slice->global_shape : tensor.shape;
  if (tensor.slice) view.slice_offset = tensor.slice->offset;
  return view;
}

absl::StatusOr<uint64_t> LayoutBuilder::BytesOf(const Entry& tensor) {
  const std::optional<uint64_t> bits = BitsOfArray(tensor.shape, tensor.dtype);
  if (!bits) return Bad(tensor.name, "has a size that overflows");
  if (*bits % 8 != 0) return Bad(tensor.name, "is no whole number of bytes");
  return *bits / 8;
}

std::vector<size_t> LayoutBuilder::Order() const {
  std::vector<size_t> order(tensors_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto before = [this](size_t a, size_t b) { return ComesBefore(tensors_[a], tensors_[b]); };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
  }
  return order;
}

absl::StatusOr<Layout> LayoutBuilder::Build(std::vector<size_t>* order) {
  std::vector<size_t> sorted = Order();
  TensorTableBuilder table(sorted.size());
  made_.ends_.reserve(sorted.size());
  made_.boxes_.reserve(sorted.size());
  encoded_bytes_ = kEncodedHeadBytes;
  for (size_t i : sorted) {
    if (absl::Status status = Append(tensors_[i]); !status.ok()) return status;
    table.Add(tensors_[i].name, tensors_[i].dtype, tensors_[i].global_shape);
  }
  if (absl::Status status = CheckBoxes(sorted); !status.ok()) return status;
  made_.numbers_ = std::move(numbers_).Take();
  made_.table_ = std::make_shared<const TensorTable>(std::move(table).Build());
  if (order != nullptr) *order = std::move(sorted);
  return std::move(made_);
}

absl::Status LayoutBuilder::Append(const Entry& tensor) {
  if (absl::Status status = CheckTensor(tensor); !status.ok()) return status;
  const absl::StatusOr<uint64_t> bytes = BytesOf(tensor);
  if (!bytes.ok()) return bytes.status();
  uint64_t end = 0;
  if (__builtin_add_overflow(made_.total_bytes(), *bytes, &end)) {
    return Bad(tensor.name, "makes the shard's size overflow");
  }
  const size_t numbers = tensor.shape.size() * (tensor.is_slice ? 3 : 1);
  encoded_bytes_ += kEncodedTensorHeadBytes + tensor.name.size() + numbers * sizeof(uint64_t);
  if (encoded_bytes_ > kLayoutBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a layout whose names and shapes take more than ", kLayoutBytesMax,
                     " bytes; give the tensors shorter names"));
  }
  box_.assign(tensor.slice_offset.begin(), tensor.slice_offset.end());
  box_.insert(box_.end(), tensor.shape.begin(), tensor.shape.end());
  made_.ends_.push_back(end);
  made_.boxes_.push_back(tensor.is_slice ? numbers_.Intern(box_) : kNoSlice);
  return absl::OkStatus();
}

// --- several boxes of one name ------------------------------------------------------------------

absl::Status LayoutBuilder::CheckBoxes(std::span<const size_t> order) {
  overlap_checks_left_ = kOverlapChecksMax;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    for (end = begin + 1; end < order.size(); ++end) {
      const Entry& before = tensors_[order[end - 1]];
      const Entry& tensor = tensors_[order[end]];
      if (before.name != tensor.name) break;
      if (absl::Status status = CheckSameTensor(before, tensor); !status.ok()) return status;
    }
    if (end - begin == 1) continue;
    absl::Status status = CheckGroup(order.subspan(begin, end - begin));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status LayoutBuilder::CheckGroup(std::span<const size_t> group) {
  const Entry& first = tensors_[group.front()];
  const size_t dimensions = first.shape.size();
  std::vector<Interval> intervals;
  for (size_t i : group) AppendBox(tensors_[i], intervals);
  std::vector<Box> boxes;
  for (size_t i = 0; i < group.size(); ++i) {
    boxes.push_back(Box(intervals).subspan(i * dimensions, dimensions));
  }
  const auto overlap = FindOverlap(boxes, overlap_checks_left_);
  if (overlap) {
    return Bad(first.name,
               absl::StrCat("has slices that overlap, ", ShowBox(boxes[overlap->first]), " and ",
                            ShowBox(boxes[overlap->second]), "; register each element once"));
  }
  if (overlap_checks_left_ > 0) return absl::OkStatus();
  return Bad(first.name, absl::StrCat("has ", group.size(),
                                      " slices of which it takes too long to see whether ",
                                      "any overlap; register fewer and larger ones"));
}

}  // namespace tensorhub
