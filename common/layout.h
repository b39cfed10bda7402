// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The layout of a shard: its tensors in canonical order (bytewise by name, boxes of one name by
// their place), where they lie in the shard's canonical byte space (one after the other, no
// padding), and a 128-bit fingerprint. Two shards with equal fingerprints can serve each other. A
// layout travels once per fingerprint, in the canonical encoding, which is also what is hashed.
//
// It is kept flat: what a group's ranks have in common in a table that they can share, shapes and
// boxes once for all tensors alike, so that a tensor costs a rank 12 bytes.

#ifndef TENSORHUB_COMMON_LAYOUT_H_
#define TENSORHUB_COMMON_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/chunking.h"
#include "common/dtype.h"
#include "common/fingerprint.h"
#include "common/ids.h"
#include "common/tensor_table.h"

namespace tensorhub {

// A tensor that is part of a larger one: this piece begins at `offset` of `global_shape`; its
// extent is the tensor's own shape.
struct SliceSpec {
  std::vector<uint64_t> global_shape;
  std::vector<uint64_t> offset;
  bool operator==(const SliceSpec&) const = default;
};

// (name, slice) is what tells it from others.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kU8;
  std::vector<uint64_t> shape;
  std::optional<SliceSpec> slice;
  bool operator==(const TensorSpec&) const = default;
};

// Bytes of a dense tensor. INVALID_ARGUMENT if that overflows or is no whole number of bytes.
absl::StatusOr<uint64_t> BytesOf(const TensorSpec& tensor);

class Layout {
 public:
  // A view of one tensor, which ends with the layout.
  struct Entry {
    std::string_view name;
    DType dtype = DType::kU8;
    std::span<const uint64_t> shape;
    // Without a slice the tensor is whole, or a piece of which nobody knows the place:
    // `global_shape` is its own shape then, and `slice_offset` empty.
    bool is_slice = false;
    std::span<const uint64_t> global_shape;
    std::span<const uint64_t> slice_offset;
    uint64_t offset = 0;  // in the shard's canonical byte space
    uint64_t bytes = 0;

    TensorSpec spec() const;
  };

  // Made as one walks through them.
  class Entries {
   public:
    class Iterator {
     public:
      Iterator(const Layout* layout, size_t i) : layout_(layout), i_(i) {}
      Entry operator*() const { return layout_->At(i_); }
      Iterator& operator++() {
        ++i_;
        return *this;
      }
      bool operator==(const Iterator&) const = default;

     private:
      const Layout* layout_;
      size_t i_;
    };
    explicit Entries(const Layout* layout) : layout_(layout) {}
    size_t size() const { return layout_->ends_.size(); }
    bool empty() const { return size() == 0; }
    Entry operator[](size_t i) const { return layout_->At(i); }
    Iterator begin() const { return {layout_, 0}; }
    Iterator end() const { return {layout_, size()}; }

   private:
    const Layout* layout_;
  };

  Layout() = default;
  // Sorts; `order`, if given, becomes the tensors' indexes in the order of the entries.
  // INVALID_ARGUMENT, naming the tensor: an empty or too long name, a size that overflows, a slice
  // outside its global shape, a name that is there twice without slices, or with equal or
  // overlapping ones, or with slices of different tensors; or too many tensors, or too long names
  // of them all together (limits.h). No tensors at all is legal (a shard of 0 bytes).
  static absl::StatusOr<Layout> Make(const std::vector<TensorSpec>& tensors,
                                     std::vector<size_t>* order = nullptr);
  // The inverse of Encode. INVALID_ARGUMENT for anything that Encode would not have written.
  static absl::StatusOr<Layout> Decode(std::string_view encoded);

  std::string Encode() const;
  const Fingerprint& fingerprint() const { return fingerprint_; }
  Entries entries() const { return Entries(this); }
  uint64_t total_bytes() const { return ends_.empty() ? 0 : ends_.back(); }

  // Null only in a layout that was not made.
  const std::shared_ptr<const TensorTable>& table() const { return table_; }
  // Takes one with the same fingerprint in the place of its own.
  void ShareTable(std::shared_ptr<const TensorTable> table);
  // What it takes in memory beside the table, about.
  uint64_t BytesKept() const;

 private:
  friend class LayoutBuilder;
  Entry At(size_t i) const;

  std::shared_ptr<const TensorTable> table_;  // a row for each entry
  std::vector<uint64_t> ends_;                // in the byte space
  std::vector<uint32_t> boxes_;               // where in numbers_: offset, then shape; or no slice
  std::vector<uint64_t> numbers_;
  Fingerprint fingerprint_;
};

// Whether a tensor only says another name of a tied one: "head.weight = embedding.weight", of no
// bytes. Python's layouts have them (docs/layouts.md).
bool IsAlias(const Layout::Entry& entry);

// One line that names the first tensor in which the two differ, for people.
std::string DescribeDifference(const Layout& mine, const Layout& theirs);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_LAYOUT_H_
