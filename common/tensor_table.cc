// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/tensor_table.h"

#include <limits>
#include <utility>

#include "common/bytes.h"
#include "common/check.h"
#include "common/fingerprint.h"

namespace tensorhub {
namespace {

template <typename Items>
std::string_view BytesIn(const Items& items) {
  return {reinterpret_cast<const char*>(items.data()), items.size() * sizeof(*items.data())};
}

}  // namespace

uint64_t TensorTable::BytesKept() const {
  return sizeof(*this) + names_.size() + rows_.size() * sizeof(Row) +
         shapes_.size() * sizeof(uint64_t);
}

void TensorTableBuilder::Add(std::string_view name, DType dtype,
                             std::span<const uint64_t> global_shape) {
  std::string& names = made_.names_;
  TensorTable::Row row;
  const bool is_known = made_.size() > 0 && made_.name(made_.size() - 1) == name;
  row.name_begin = is_known ? made_.rows_.back().name_begin : static_cast<uint32_t>(names.size());
  if (!is_known) names.append(name);
  TH_CHECK(names.size() <= std::numeric_limits<uint32_t>::max());
  TH_CHECK(name.size() <= std::numeric_limits<uint16_t>::max());
  TH_CHECK(global_shape.size() <= std::numeric_limits<uint8_t>::max());
  row.name_bytes = static_cast<uint16_t>(name.size());
  row.shape_begin = shapes_.Intern(global_shape);
  row.dtype = static_cast<uint8_t>(dtype);
  row.dimensions = static_cast<uint8_t>(global_shape.size());
  made_.rows_.push_back(row);
}

// Equal tensors give equal names, rows and shapes, since all are in the order of the names.
TensorTable TensorTableBuilder::Build() && {
  made_.names_.shrink_to_fit();
  made_.shapes_ = std::move(shapes_).Take();
  std::string parts;
  ByteWriter writer(parts);
  for (std::string_view part :
       {std::string_view(made_.names_), BytesIn(made_.rows_), BytesIn(made_.shapes_)}) {
    writer.PutBytes(ToBytes(FingerprintOf(part)));
  }
  made_.fingerprint_ = FingerprintOf(parts);
  return std::move(made_);
}

}  // namespace tensorhub
