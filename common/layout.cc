// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The canonical encoding, little endian:
//
//   "THL1"  u32 tensors  then per tensor, in bytewise order of the names and by place within one:
//   u32 name bytes  name  u8 dtype  u8 has slice  u32 dimensions  u64 shape[dimensions]
//   and with a slice:  u64 global shape[dimensions]  u64 offset[dimensions]
//
// Every layout has exactly one encoding, so that equal fingerprints mean equal layouts.

#include "common/layout.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/bytes.h"
#include "common/check.h"
#include "common/layout_builder.h"
#include "common/limits.h"
#include "common/text.h"

namespace tensorhub {
namespace {

constexpr std::string_view kMagic = "THL1";
// Name length, one byte of name, dtype, slice flag, dimensions.
constexpr size_t kEncodedTensorBytesMin = 4 + 1 + 1 + 1 + 4;

std::string Named(std::string_view name) { return absl::StrCat("tensor ", Shown(name)); }

std::string ShowDims(std::span<const uint64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ", "), "]");
}

// --- encoding -----------------------------------------------------------------------------------

void PutDims(ByteWriter& writer, std::span<const uint64_t> dims) {
  for (uint64_t extent : dims) writer.Put(extent);
}

void PutTensor(ByteWriter& writer, const Layout::Entry& tensor) {
  writer.Put(static_cast<uint32_t>(tensor.name.size()));
  writer.PutBytes(tensor.name);
  writer.Put(static_cast<uint8_t>(tensor.dtype));
  writer.Put(static_cast<uint8_t>(tensor.is_slice ? 1 : 0));
  writer.Put(static_cast<uint32_t>(tensor.shape.size()));
  PutDims(writer, tensor.shape);
  if (!tensor.is_slice) return;
  PutDims(writer, tensor.global_shape);
  PutDims(writer, tensor.slice_offset);
}

// Reads tensors, whose numbers it keeps.
class TensorReader {
 public:
  explicit TensorReader(ByteReader& reader) : reader_(reader) {
    // Views of it are handed out, so it may not grow: each number takes as many bytes there, and
    // one tensor may be read beyond the end.
    numbers_.reserve(reader.left() / sizeof(uint64_t) + 3 * kTensorDimensionsMax);
  }

  absl::StatusOr<Layout::Entry> Take() {
    Layout::Entry tensor;
    tensor.name = reader_.TakeBytes(reader_.Take<uint32_t>());
    tensor.dtype = static_cast<DType>(reader_.Take<uint8_t>());
    tensor.is_slice = reader_.Take<uint8_t>() != 0;
    const auto dims = reader_.Take<uint32_t>();
    if (dims > kTensorDimensionsMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(Named(tensor.name), " has too many dimensions"));
    }
    tensor.shape = TakeDims(dims);
    tensor.global_shape = tensor.is_slice ? TakeDims(dims) : tensor.shape;
    if (tensor.is_slice) tensor.slice_offset = TakeDims(dims);
    if (!reader_.ok()) return absl::InvalidArgumentError("the layout's encoding is cut short");
    return tensor;
  }

 private:
  std::span<const uint64_t> TakeDims(uint32_t count) {
    TH_CHECK(numbers_.size() + count <= numbers_.capacity());
    const size_t begin = numbers_.size();
    for (uint32_t i = 0; i < count; ++i) numbers_.push_back(reader_.Take<uint64_t>());
    return std::span(numbers_).subspan(begin, count);
  }

  ByteReader& reader_;
  std::vector<uint64_t> numbers_;
};

// --- differences --------------------------------------------------------------------------------

std::string Describe(const Layout::Entry& tensor) {
  std::string out = absl::StrCat(std::string(ToString(tensor.dtype)), " ", ShowDims(tensor.shape));
  if (tensor.is_slice) {
    absl::StrAppend(&out, " at ", ShowDims(tensor.slice_offset), " of ",
                    ShowDims(tensor.global_shape));
  }
  return out;
}

// What only one of them has. A name that is there several times is told by its place.
std::string DescribeExtra(const Layout::Entries& entries, size_t i, std::string_view where) {
  const Layout::Entry extra = entries[i];
  const bool is_again = i > 0 && entries[i - 1].name == extra.name;
  const std::string what = is_again ? absl::StrCat(" (", Describe(extra), ")") : "";
  return absl::StrCat(Named(extra.name), what, " is only in ", std::string(where));
}

}  // namespace

absl::StatusOr<uint64_t> BytesOf(const TensorSpec& tensor) {
  return LayoutBuilder::BytesOf(ViewOf(tensor));
}

TensorSpec Layout::Entry::spec() const {
  const auto numbers = [](std::span<const uint64_t> span) {
    return std::vector<uint64_t>(span.begin(), span.end());
  };
  TensorSpec spec{std::string(name), dtype, numbers(shape), std::nullopt};
  if (is_slice) spec.slice = SliceSpec{numbers(global_shape), numbers(slice_offset)};
  return spec;
}

Layout::Entry Layout::At(size_t i) const {
  Entry entry;
  entry.name = table_->name(i);
  entry.dtype = table_->dtype(i);
  entry.global_shape = table_->global_shape(i);
  entry.is_slice = boxes_[i] != LayoutBuilder::kNoSlice;
  entry.shape = entry.global_shape;
  if (entry.is_slice) {
    const size_t dimensions = entry.global_shape.size();
    entry.slice_offset = std::span(numbers_).subspan(boxes_[i], dimensions);
    entry.shape = std::span(numbers_).subspan(boxes_[i] + dimensions, dimensions);
  }
  entry.offset = i == 0 ? 0 : ends_[i - 1];
  entry.bytes = ends_[i] - entry.offset;
  return entry;
}

absl::StatusOr<Layout> Layout::Make(const std::vector<TensorSpec>& tensors,
                                    std::vector<size_t>* order) {
  if (tensors.size() > kLayoutTensorsMax) return TooManyTensors(tensors.size());
  LayoutBuilder builder;
  for (const TensorSpec& tensor : tensors) builder.Add(ViewOf(tensor));
  absl::StatusOr<Layout> layout = builder.Build(order);
  if (layout.ok()) layout->fingerprint_ = FingerprintOf(layout->Encode());
  return layout;
}

absl::StatusOr<Layout> Layout::Decode(std::string_view encoded) {
  ByteReader reader(encoded);
  if (reader.TakeBytes(kMagic.size()) != kMagic) {
    return absl::InvalidArgumentError("not a layout's encoding, or of another version");
  }
  const auto count = reader.Take<uint32_t>();
  // Before anything is allocated: the bytes must be there.
  if (!reader.ok() || count > reader.left() / kEncodedTensorBytesMin) {
    return absl::InvalidArgumentError("the layout's encoding is cut short");
  }
  if (count > kLayoutTensorsMax) return TooManyTensors(count);
  TensorReader tensors(reader);
  LayoutBuilder builder;
  for (uint32_t i = 0; i < count; ++i) {
    const absl::StatusOr<Entry> tensor = tensors.Take();
    if (!tensor.ok()) return tensor.status();
    builder.Add(*tensor);
  }
  absl::StatusOr<Layout> layout = builder.Build(nullptr);
  if (layout.ok() && layout->Encode() != encoded) {
    return absl::InvalidArgumentError("the layout's encoding is not the canonical one");
  }
  if (layout.ok()) layout->fingerprint_ = FingerprintOf(encoded);
  return layout;
}

std::string Layout::Encode() const {
  std::string encoded(kMagic);
  ByteWriter writer(encoded);
  writer.Put(static_cast<uint32_t>(ends_.size()));
  for (const Entry& entry : entries()) PutTensor(writer, entry);
  return encoded;
}

void Layout::ShareTable(std::shared_ptr<const TensorTable> table) {
  TH_CHECK(table->fingerprint() == table_->fingerprint());
  table_ = std::move(table);
}

// Estimated by sizes, which are the same in every copy.
uint64_t Layout::BytesKept() const {
  return sizeof(*this) + ends_.size() * sizeof(uint64_t) + boxes_.size() * sizeof(uint32_t) +
         numbers_.size() * sizeof(uint64_t);
}

bool IsAlias(const Layout::Entry& entry) {
  return entry.shape.size() == 1 && entry.shape[0] == 0 &&
         entry.name.find(" = ") != std::string_view::npos;
}

std::string DescribeDifference(const Layout& mine, const Layout& theirs) {
  const Layout::Entries a = mine.entries();
  const Layout::Entries b = theirs.entries();
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i == b.size() || (i < a.size() && a[i].name < b[i].name)) {
      return DescribeExtra(a, i, "this layout, not in the other");
    }
    if (i == a.size() || b[i].name < a[i].name) {
      return DescribeExtra(b, i, "the other layout, not in this one");
    }
    if (a[i].spec() != b[i].spec()) {
      return absl::StrCat(Named(a[i].name), " is ", Describe(a[i]), " here and ", Describe(b[i]),
                          " there");
    }
  }
  return "no difference";
}

}  // namespace tensorhub
