// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layout::Decode: what it accepts is canonical, and its entries cover the byte space.

#include "common/check.h"
#include "common/layout.h"
#include "tests/fuzz/fuzz.h"

namespace tensorhub::fuzz {

std::vector<std::string> Seeds() {
  const TensorSpec plain{.name = "w", .dtype = DType::kBF16, .shape = {3, 5}, .slice = {}};
  const TensorSpec slice{.name = "layers.0.w",
                         .dtype = DType::kF32,
                         .shape = {2, 4},
                         .slice = SliceSpec{.global_shape = {8, 4}, .offset = {6, 0}}};
  const TensorSpec scalar{.name = "s", .dtype = DType::kF4, .shape = {2}, .slice = {}};
  const TensorSpec empty{.name = "e", .dtype = DType::kU8, .shape = {0, 1}, .slice = {}};
  TensorSpec other_slice = slice;
  other_slice.slice->offset = {2, 0};
  return {Layout::Make({}).value().Encode(), Layout::Make({plain}).value().Encode(),
          Layout::Make({slice, other_slice}).value().Encode(),
          Layout::Make({plain, slice, scalar, empty}).value().Encode()};
}

void Run(std::string_view input) {
  const absl::StatusOr<Layout> layout = Layout::Decode(input);
  if (!layout.ok()) {
    TH_CHECK(absl::IsInvalidArgument(layout.status()));
    TH_CHECK(!layout.status().message().empty());
    return;
  }
  TH_CHECK(layout->Encode() == input);
  TH_CHECK(layout->fingerprint() == FingerprintOf(input));
  uint64_t end = 0;
  std::vector<TensorSpec> specs;
  for (const Layout::Entry& entry : layout->entries()) {
    TH_CHECK(entry.offset == end);
    end += entry.bytes;
    TH_CHECK(end >= entry.bytes);
    specs.push_back(entry.spec());
    TH_CHECK(BytesOf(specs.back()).value() == entry.bytes);
  }
  TH_CHECK(end == layout->total_bytes());
  TH_CHECK(Layout::Make(specs).value().fingerprint() == layout->fingerprint());
  const Chunking chunking{end, DefaultChunkBytes(end)};
  if (CheckChunking(chunking).ok()) TH_CHECK(chunking.count() <= kChunkCountMax);
}

}  // namespace tensorhub::fuzz
