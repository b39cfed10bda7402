// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a group mostly have in common: their tensors' names, dtypes and global shapes,
// in the order of the names. It is kept once for all layouts that have an equal one.

#ifndef TENSORHUB_COMMON_TENSOR_TABLE_H_
#define TENSORHUB_COMMON_TENSOR_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/dtype.h"
#include "common/ids.h"
#include "common/interned_lists.h"

namespace tensorhub {

class TensorTable {
 public:
  size_t size() const { return rows_.size(); }
  std::string_view name(size_t row) const {
    return std::string_view(names_).substr(rows_[row].name_begin, rows_[row].name_bytes);
  }
  DType dtype(size_t row) const { return static_cast<DType>(rows_[row].dtype); }
  std::span<const uint64_t> global_shape(size_t row) const {
    return std::span(shapes_).subspan(rows_[row].shape_begin, rows_[row].dimensions);
  }
  // Equal ones are of equal tables.
  const Fingerprint& fingerprint() const { return fingerprint_; }
  // What it takes in memory, about.
  uint64_t BytesKept() const;

 private:
  friend class TensorTableBuilder;
  // Hashed as bytes, so it has no padding.
  struct Row {
    uint32_t name_begin = 0;
    uint32_t shape_begin = 0;
    uint16_t name_bytes = 0;
    uint8_t dtype = 0;
    uint8_t dimensions = 0;
  };
  static_assert(std::has_unique_object_representations_v<Row>);

  std::string names_;
  std::vector<Row> rows_;
  std::vector<uint64_t> shapes_;
  Fingerprint fingerprint_;
};

class TensorTableBuilder {
 public:
  explicit TensorTableBuilder(size_t rows) { made_.rows_.reserve(rows); }

  // In the order of the names; one that comes again in the next row costs no second name.
  void Add(std::string_view name, DType dtype, std::span<const uint64_t> global_shape);
  TensorTable Build() &&;

 private:
  TensorTable made_;
  InternedLists<uint64_t> shapes_;
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_TENSOR_TABLE_H_
