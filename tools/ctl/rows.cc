// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/rows.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace tensorhub::ctl {
namespace {

constexpr char kIndexOfFiles[] = ".index.json";

TensorSpec WholeOf(const TensorSpec& spec) {
  return {spec.name, spec.dtype, spec.slice ? spec.slice->global_shape : spec.shape, std::nullopt};
}

absl::Status Mismatch(const TensorSpec& spec, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat("tensor ", Shown(spec.name), ": ", what,
                   "; leave --ranks out to take the version as its ranks hold it"));
}

}  // namespace

absl::StatusOr<std::vector<TensorSpec>> WholeTensors(const std::vector<Layout>& ranks) {
  std::map<std::string, TensorSpec> by_name;
  for (const Layout& rank : ranks) {
    for (const Layout::Entry& entry : rank.entries()) {
      if (IsAlias(entry)) continue;
      const TensorSpec spec = entry.spec();
      if (!spec.slice && ranks.size() > 1) {
        return Mismatch(spec, "a rank does not say which slice of it is there");
      }
      const TensorSpec whole = WholeOf(spec);
      const auto [known, added] = by_name.try_emplace(whole.name, whole);
      const bool same = known->second.dtype == whole.dtype && known->second.shape == whole.shape;
      if (!same) return Mismatch(whole, "ranks say different shapes or dtypes");
    }
  }
  std::vector<TensorSpec> all;
  for (auto& [name, spec] : by_name) all.push_back(std::move(spec));
  return all;
}

std::vector<TensorSpec> RowsOf(const std::vector<TensorSpec>& whole, uint32_t rank,
                               uint32_t ranks) {
  if (ranks == 1) return whole;
  std::vector<TensorSpec> rows;
  for (const TensorSpec& tensor : whole) {
    TensorSpec piece = tensor;
    piece.slice = SliceSpec{tensor.shape, std::vector<uint64_t>(tensor.shape.size(), 0)};
    const bool empty =
        std::find(tensor.shape.begin(), tensor.shape.end(), 0u) != tensor.shape.end();
    if (!tensor.shape.empty() && !empty) {
      const uint64_t each = (tensor.shape[0] - 1) / ranks + 1;
      const uint64_t begin = std::min<uint64_t>(rank * each, tensor.shape[0]);
      piece.slice->offset[0] = begin;
      piece.shape[0] = std::min(each, tensor.shape[0] - begin);
      if (piece.shape[0] == 0) continue;
    }
    rows.push_back(std::move(piece));
  }
  return rows;
}

absl::StatusOr<std::vector<safetensors::Attachment>> FilesOfRows(
    const std::vector<TensorSpec>& whole, const std::vector<safetensors::ExtraFile>& extras,
    uint32_t ranks) {
  std::vector<safetensors::Attachment> files;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    absl::StatusOr<Layout> layout = Layout::Make(RowsOf(whole, rank, ranks));
    if (!layout.ok()) return layout.status();
    absl::StatusOr<safetensors::Attachment> file = safetensors::FromLayout(*layout, rank, ranks);
    if (!file.ok()) return file.status();
    files.push_back(*std::move(file));
  }
  for (const safetensors::ExtraFile& extra : extras) {
    if (!absl::EndsWith(extra.name, kIndexOfFiles)) files.front().extras.push_back(extra);
  }
  return files;
}

}  // namespace tensorhub::ctl
