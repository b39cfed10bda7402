// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The canonical encoding, little endian:
//
//   "THL1"  u32 tensors  then per tensor, in bytewise order of the names:
//   u32 name bytes  name  u8 dtype  u8 has slice  u32 dimensions  u64 shape[dimensions]
//   and with a slice:  u64 global shape[dimensions]  u64 offset[dimensions]
//
// Every layout has exactly one encoding, so that equal fingerprints mean equal layouts.

#define XXH_INLINE_ALL
#include "common/layout.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/bytes.h"
#include "common/limits.h"
#include "common/text.h"

namespace tensorhub {
namespace {

constexpr std::string_view kMagic = "THL1";
constexpr size_t kNameBytesMax = 4096;
constexpr size_t kTensorsMax = size_t{1} << 20;
// Name length, one byte of name, dtype, slice flag, dimensions.
constexpr size_t kEncodedTensorBytesMin = 4 + 1 + 1 + 1 + 4;

struct DTypeInfo {
  std::string_view name;
  uint32_t bits;
};
// Indexed by DType; the first entry is no dtype.
constexpr std::array<DTypeInfo, 21> kDTypes = {
    {{"", 0},        {"BOOL", 8},    {"U8", 8},     {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
     {"F8_E8M0", 8}, {"I16", 16},    {"U16", 16},   {"F16", 16}, {"BF16", 16},   {"I32", 32},
     {"U32", 32},    {"F32", 32},    {"I64", 64},   {"U64", 64}, {"F64", 64},    {"C64", 64},
     {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}}};

bool IsDType(uint8_t value) { return value > 0 && value < kDTypes.size(); }

std::string Named(std::string_view name) { return absl::StrCat("tensor ", Shown(name)); }

std::string ShowDims(const std::vector<uint64_t>& dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ", "), "]");
}

absl::Status Bad(std::string_view name, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(Named(name), " ", why));
}

bool IsEmpty(const std::vector<uint64_t>& dims) {
  return std::find(dims.begin(), dims.end(), 0u) != dims.end();
}

// The bits of a dense array, or nothing if they do not fit.
std::optional<uint64_t> BitsOfArray(const std::vector<uint64_t>& dims, DType dtype) {
  if (IsEmpty(dims)) return 0;
  uint64_t bits = BitsOf(dtype);
  for (uint64_t extent : dims) {
    if (__builtin_mul_overflow(bits, extent, &bits)) return std::nullopt;
  }
  return bits;
}

absl::Status CheckSlice(const TensorSpec& tensor) {
  const Slice& slice = *tensor.slice;
  const size_t dims = tensor.shape.size();
  if (slice.global_shape.size() != dims || slice.offset.size() != dims) {
    return Bad(tensor.name, "has a slice with another number of dimensions than its shape");
  }
  for (size_t i = 0; i < dims; ++i) {
    uint64_t end = 0;
    const bool overflow = __builtin_add_overflow(slice.offset[i], tensor.shape[i], &end);
    if (overflow || end > slice.global_shape[i]) {
      return Bad(tensor.name,
                 absl::StrCat("has a slice outside its global shape in dimension ", i));
    }
  }
  if (!BitsOfArray(slice.global_shape, tensor.dtype)) {
    return Bad(tensor.name, "has a global shape whose size overflows");
  }
  return absl::OkStatus();
}

absl::Status CheckTensor(const TensorSpec& tensor) {
  if (tensor.name.empty()) return absl::InvalidArgumentError("a tensor has an empty name");
  if (tensor.name.size() > kNameBytesMax) {
    return Bad(tensor.name, absl::StrCat("has a name of more than ", kNameBytesMax, " bytes"));
  }
  if (!IsDType(static_cast<uint8_t>(tensor.dtype))) return Bad(tensor.name, "has no known dtype");
  if (tensor.shape.size() > kTensorDimensionsMax) {
    return Bad(tensor.name, absl::StrCat("has more than ", kTensorDimensionsMax, " dimensions"));
  }
  return tensor.slice ? CheckSlice(tensor) : absl::OkStatus();
}

// --- encoding -----------------------------------------------------------------------------------

void PutDims(ByteWriter& writer, const std::vector<uint64_t>& dims) {
  for (uint64_t extent : dims) writer.Put(extent);
}

void PutTensor(ByteWriter& writer, const TensorSpec& tensor) {
  writer.Put(static_cast<uint32_t>(tensor.name.size()));
  writer.PutBytes(tensor.name);
  writer.Put(static_cast<uint8_t>(tensor.dtype));
  writer.Put(static_cast<uint8_t>(tensor.slice ? 1 : 0));
  writer.Put(static_cast<uint32_t>(tensor.shape.size()));
  PutDims(writer, tensor.shape);
  if (!tensor.slice) return;
  PutDims(writer, tensor.slice->global_shape);
  PutDims(writer, tensor.slice->offset);
}

std::vector<uint64_t> TakeDims(ByteReader& reader, uint32_t count) {
  std::vector<uint64_t> dims(count);
  for (uint64_t& extent : dims) extent = reader.Take<uint64_t>();
  return dims;
}

absl::StatusOr<TensorSpec> TakeTensor(ByteReader& reader) {
  TensorSpec tensor;
  tensor.name = std::string(reader.TakeBytes(reader.Take<uint32_t>()));
  tensor.dtype = static_cast<DType>(reader.Take<uint8_t>());
  const auto has_slice = reader.Take<uint8_t>();
  const auto dims = reader.Take<uint32_t>();
  if (dims > kTensorDimensionsMax) return Bad(tensor.name, "has too many dimensions");
  tensor.shape = TakeDims(reader, dims);
  if (has_slice != 0) {
    tensor.slice.emplace();
    tensor.slice->global_shape = TakeDims(reader, dims);
    tensor.slice->offset = TakeDims(reader, dims);
  }
  if (!reader.ok()) return absl::InvalidArgumentError("the layout's encoding is cut short");
  return tensor;
}

// --- differences --------------------------------------------------------------------------------

std::string Describe(const TensorSpec& tensor) {
  std::string out = absl::StrCat(std::string(ToString(tensor.dtype)), " ", ShowDims(tensor.shape));
  if (tensor.slice) {
    absl::StrAppend(&out, " at ", ShowDims(tensor.slice->offset), " of ",
                    ShowDims(tensor.slice->global_shape));
  }
  return out;
}

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kChunkBytesMin = 4 * kKiB;
constexpr uint64_t kChunkBytesMax = kKiB * kKiB * kKiB;

}  // namespace

std::string_view ToString(DType dtype) {
  const auto index = static_cast<uint8_t>(dtype);
  return IsDType(index) ? kDTypes[index].name : "?";
}

std::optional<DType> ParseDType(std::string_view name) {
  for (uint8_t i = 1; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

uint32_t BitsOf(DType dtype) {
  const auto index = static_cast<uint8_t>(dtype);
  return IsDType(index) ? kDTypes[index].bits : 0;
}

absl::StatusOr<uint64_t> BytesOf(const TensorSpec& tensor) {
  const std::optional<uint64_t> bits = BitsOfArray(tensor.shape, tensor.dtype);
  if (!bits) return Bad(tensor.name, "has a size that overflows");
  if (*bits % 8 != 0) return Bad(tensor.name, "is no whole number of bytes");
  return *bits / 8;
}

absl::StatusOr<Layout> Layout::Make(std::vector<TensorSpec> tensors) {
  if (tensors.size() > kTensorsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a layout of ", tensors.size(), " tensors; at most ", kTensorsMax));
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorSpec& a, const TensorSpec& b) { return a.name < b.name; });
  Layout layout;
  layout.encoded_ = kMagic;
  ByteWriter writer(layout.encoded_);
  writer.Put(static_cast<uint32_t>(tensors.size()));
  for (TensorSpec& tensor : tensors) {
    if (absl::Status status = CheckTensor(tensor); !status.ok()) return status;
    if (!layout.entries_.empty() && layout.entries_.back().spec.name == tensor.name) {
      return Bad(tensor.name, "is there twice");
    }
    const absl::StatusOr<uint64_t> bytes = BytesOf(tensor);
    if (!bytes.ok()) return bytes.status();
    const uint64_t offset = layout.total_bytes_;
    if (__builtin_add_overflow(offset, *bytes, &layout.total_bytes_)) {
      return Bad(tensor.name, "makes the shard's size overflow");
    }
    PutTensor(writer, tensor);
    if (layout.encoded_.size() > kLayoutBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("a layout whose names and shapes take more than ", kLayoutBytesMax,
                       " bytes; give the tensors shorter names"));
    }
    layout.entries_.push_back({std::move(tensor), offset, *bytes});
  }
  layout.fingerprint_ = FingerprintOf(layout.encoded_);
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
  std::vector<TensorSpec> tensors;
  tensors.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    absl::StatusOr<TensorSpec> tensor = TakeTensor(reader);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  absl::StatusOr<Layout> layout = Make(std::move(tensors));
  if (layout.ok() && layout->Encode() != encoded) {
    return absl::InvalidArgumentError("the layout's encoding is not the canonical one");
  }
  return layout;
}

std::string DescribeDifference(const Layout& mine, const Layout& theirs) {
  const std::vector<Layout::Entry>& a = mine.entries();
  const std::vector<Layout::Entry>& b = theirs.entries();
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i == b.size() || (i < a.size() && a[i].spec.name < b[i].spec.name)) {
      return absl::StrCat(Named(a[i].spec.name), " is only in this layout, not in the other");
    }
    if (i == a.size() || b[i].spec.name < a[i].spec.name) {
      return absl::StrCat(Named(b[i].spec.name), " is only in the other layout, not in this one");
    }
    if (a[i].spec != b[i].spec) {
      return absl::StrCat(Named(a[i].spec.name), " is ", Describe(a[i].spec), " here and ",
                          Describe(b[i].spec), " there");
    }
  }
  return "no difference";
}

Fingerprint FingerprintOf(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

uint64_t DefaultChunkBytes(uint64_t total_bytes) {
  constexpr uint64_t kStep = 64 * kKiB;
  const auto round_up = [](uint64_t bytes) {
    return (bytes / kStep + (bytes % kStep != 0)) * kStep;
  };
  const uint64_t wanted = std::clamp(total_bytes / 2048, 128 * kKiB, 512 * kKiB);
  const uint64_t needed = total_bytes / kChunkCountMax + (total_bytes % kChunkCountMax != 0);
  return round_up(std::max(wanted, needed));
}

absl::Status CheckChunking(const Chunking& chunking) {
  const uint64_t size = chunking.chunk_bytes;
  if (size < kChunkBytesMin || size > kChunkBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk_bytes is ", size, "; it must be between 4 KiB and 1 GiB"));
  }
  const uint64_t count = chunking.total_bytes / size + (chunking.total_bytes % size != 0);
  if (count > kChunkCountMax) {
    return absl::InvalidArgumentError(absl::StrCat("chunk_bytes ", size, " cuts the shard into ",
                                                   count, " chunks; at most ", kChunkCountMax));
  }
  return absl::OkStatus();
}

}  // namespace tensorhub
