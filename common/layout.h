// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The layout of a shard: its tensors in canonical order (bytewise by name), their place in the
// shard's canonical byte space (tensor after tensor, no padding), and a 128-bit fingerprint. Two
// shards with equal fingerprints can serve each other. A layout travels once per fingerprint, in
// the canonical encoding, which is also what is hashed.

#ifndef TENSORHUB_COMMON_LAYOUT_H_
#define TENSORHUB_COMMON_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ids.h"

namespace tensorhub {

// The safetensors names. kOpaque: bytes without a meaning to us ("U8" on disk).
enum class DType : uint8_t {
  kBool = 1,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kI64,
  kU64,
  kF64,
  kC64,
  kF4,
  kF6E2M3,
  kF6E3M2,
};
std::string_view ToString(DType dtype);  // "BF16"
std::optional<DType> ParseDType(std::string_view name);
uint32_t BitsOf(DType dtype);

// A tensor that is part of a larger one: this piece begins at `offset` of `global_shape`; its
// extent is the tensor's own shape.
struct Slice {
  std::vector<uint64_t> global_shape;
  std::vector<uint64_t> offset;
  bool operator==(const Slice&) const = default;
};

struct TensorSpec {
  std::string name;
  DType dtype = DType::kU8;
  std::vector<uint64_t> shape;
  std::optional<Slice> slice;
  bool operator==(const TensorSpec&) const = default;
};

// Bytes of a dense tensor. INVALID_ARGUMENT if that overflows or is no whole number of bytes.
absl::StatusOr<uint64_t> BytesOf(const TensorSpec& tensor);

class Layout {
 public:
  struct Entry {
    TensorSpec spec;
    uint64_t offset = 0;  // in the shard's canonical byte space
    uint64_t bytes = 0;
  };

  Layout() = default;
  // Sorts. INVALID_ARGUMENT, naming the tensor: an empty, too long or repeated name, a size that
  // overflows, a slice outside its global shape; or too many tensors, or too long names of them all
  // together (limits.h). No tensors at all is legal (a shard of 0 bytes).
  static absl::StatusOr<Layout> Make(std::vector<TensorSpec> tensors);
  // The inverse of Encode. INVALID_ARGUMENT for anything that Encode would not have written.
  static absl::StatusOr<Layout> Decode(std::string_view encoded);

  const std::string& Encode() const { return encoded_; }
  const Fingerprint& fingerprint() const { return fingerprint_; }
  const std::vector<Entry>& entries() const { return entries_; }
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  std::vector<Entry> entries_;
  uint64_t total_bytes_ = 0;
  std::string encoded_;
  Fingerprint fingerprint_;
};

// One line that names the first tensor in which the two differ, for people.
std::string DescribeDifference(const Layout& mine, const Layout& theirs);

// XXH3-128 of the bytes.
Fingerprint FingerprintOf(std::string_view bytes);

// A shard's byte space cut into chunks of fixed size (the last one may be shorter).
struct Chunking {
  uint64_t total_bytes = 0;
  uint64_t chunk_bytes = 1;

  uint32_t count() const {
    return static_cast<uint32_t>((total_bytes + chunk_bytes - 1) / chunk_bytes);
  }
  uint64_t begin(uint32_t chunk) const { return chunk * chunk_bytes; }
  uint64_t size(uint32_t chunk) const {
    const uint64_t start = begin(chunk);
    return start + chunk_bytes <= total_bytes ? chunk_bytes : total_bytes - start;
  }
  bool operator==(const Chunking&) const = default;
};

// About total/2048, a multiple of 64 KiB between 128 KiB and 512 KiB (and larger only where the
// control word's 24 bits would not suffice). A chain's members each add the time of one chunk
// (docs/architecture.md, "Chunks"), so chunks are as small as a read's fixed cost allows.
uint64_t DefaultChunkBytes(uint64_t total_bytes);
// INVALID_ARGUMENT unless 4 KiB <= chunk_bytes <= 1 GiB and the count fits the control word.
absl::Status CheckChunking(const Chunking& chunking);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_LAYOUT_H_
