// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Inside of the layout: what may be in one (R9), and putting it together.

#ifndef TENSORHUB_COMMON_LAYOUT_BUILDER_H_
#define TENSORHUB_COMMON_LAYOUT_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/boxes.h"
#include "common/interned_lists.h"
#include "common/layout.h"
#include "common/tensor_table.h"

namespace tensorhub {

inline constexpr size_t kLayoutTensorsMax = size_t{1} << 20;
absl::Status TooManyTensors(size_t count);
// A view of what it takes to register a tensor; without a place in a byte space.
Layout::Entry ViewOf(const TensorSpec& tensor);

class LayoutBuilder {
 public:
  static constexpr uint32_t kNoSlice = ~uint32_t{0};

  // In any order. What it refers to must outlive Build.
  void Add(const Layout::Entry& tensor) { tensors_.push_back(tensor); }
  // Errors as of Layout::Make. The fingerprint is not set.
  absl::StatusOr<Layout> Build(std::vector<size_t>* order);

  static absl::StatusOr<uint64_t> BytesOf(const Layout::Entry& tensor);

 private:
  std::vector<size_t> Order() const;
  absl::Status Append(const Layout::Entry& tensor);
  absl::Status CheckBoxes(std::span<const size_t> order);
  absl::Status CheckGroup(std::span<const size_t> group);

  std::vector<Layout::Entry> tensors_;
  Layout made_;
  InternedLists<uint64_t> numbers_;
  size_t encoded_bytes_ = 0;
  size_t overlap_checks_left_ = 0;
  std::vector<uint64_t> box_;  // of the tensor at hand
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_LAYOUT_BUILDER_H_
