// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/tensor_match.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/random.h"

namespace tensorhub {
namespace {

bool AreAdjacent(Box a, Box b, size_t along) { return a[along].end == b[along].begin; }

// The one dimension along which the second box goes on where the first one ends, or nothing.
std::optional<size_t> JointOf(Box a, Box b) {
  std::optional<size_t> joint;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (joint || !AreAdjacent(a, b, i)) return std::nullopt;
    joint = i;
  }
  return joint;
}

}  // namespace

std::string PlanSteps::Take(uint64_t steps) {
  if (steps < left_) {
    left_ -= steps;
    return "";
  }
  left_ = 0;
  return absl::StrCat("takes too long to look at, with those before it: more than ", kMax,
                      " steps; cut the tensors into fewer pieces, or the group into fewer ranks");
}

// --- the tensor and its boxes -------------------------------------------------------------------

std::string TensorMatch::Seek(size_t reader_tensor) {
  const Sharding::Tensor& tensor = reader_.tensors()[reader_tensor];
  const std::vector<Sharding::Tensor>& sources = source_.tensors();
  reader_tensor_ = reader_tensor;
  is_name_hashed_ = false;
  wanted_count_ = 0;
  const size_t guess = source_tensor_ + 1;
  if (guess < sources.size() && sources[guess].name == tensor.name) {
    source_tensor_ = guess;
  } else {
    const auto found = std::lower_bound(
        sources.begin(), sources.end(), tensor.name,
        [](const Sharding::Tensor& source, const std::string& name) { return source.name < name; });
    if (found == sources.end() || found->name != tensor.name) return "is held by nobody";
    source_tensor_ = static_cast<size_t>(found - sources.begin());
  }
  const Sharding::Tensor& source = sources[source_tensor_];
  if (source.dtype == tensor.dtype && source.global_shape == tensor.global_shape) return "";
  return absl::StrCat("is ", ShowArray(source.dtype, source.global_shape), " at its sources and ",
                      ShowArray(tensor.dtype, tensor.global_shape), " at its readers");
}

std::string TensorMatch::Cut() {
  ListSources();
  const auto concerns = [this](const Sharding::Slice& slice) { return Concerns(slice); };
  size_t cells_left = kReadItemsMax;
  const std::span<const Sharding::Slice> slices = reader_.slices(reader_tensor_);
  for (size_t begin = 0, end = 0; begin < slices.size(); begin = end) {
    while (end < slices.size() && slices[end].box == slices[begin].box) ++end;
    const std::span<const Sharding::Slice> readers = slices.subspan(begin, end - begin);
    if (std::none_of(readers.begin(), readers.end(), concerns)) continue;
    std::string problem = CutWanted(readers, cells_left);
    if (!problem.empty()) return problem;
  }
  return "";
}

// Called once for each tensor, whose slices it walks through; that is what the layouts' size
// bounds.
void TensorMatch::ListSources() {
  source_boxes_.clear();
  reach_.clear();
  uint64_t reach = 0;
  for (const Sharding::Slice& slice : source_.slices(source_tensor_)) {
    const Box box = source_.box(source_tensor_, slice);
    source_boxes_.push_back(box);
    if (!box.empty()) reach = std::max(reach, box[0].end);
    reach_.push_back(reach);
  }
}

// The slices that begin before the box ends, and not before all that end before it begins.
std::span<const Sharding::Slice> TensorMatch::SourcesNear(Box box) const {
  const std::span<const Sharding::Slice> slices = source_.slices(source_tensor_);
  if (box.empty()) return slices;
  const auto first = std::upper_bound(reach_.begin(), reach_.end(), box[0].begin);
  const auto last =
      std::lower_bound(source_boxes_.begin(), source_boxes_.end(), box[0].end,
                       [](Box source, uint64_t end) { return source[0].begin < end; });
  const auto begin = static_cast<size_t>(first - reach_.begin());
  const auto end = static_cast<size_t>(last - source_boxes_.begin());
  return slices.subspan(begin, end > begin ? end - begin : 0);
}

std::string TensorMatch::CutWanted(std::span<const Sharding::Slice> readers, size_t& cells_left) {
  if (wanted_.size() == wanted_count_) wanted_.emplace_back();
  Wanted& wanted = wanted_[wanted_count_++];
  wanted.box = reader_.box(reader_tensor_, readers.front());
  wanted.readers = readers;
  wanted.sources = SourcesNear(wanted.box);
  const auto first =
      static_cast<size_t>(wanted.sources.data() - source_.slices(source_tensor_).data());
  const std::span<const Box> boxes = std::span(source_boxes_).subspan(first, wanted.sources.size());
  if (std::string too_long = steps_.Take(1 + boxes.size()); !too_long.empty()) return too_long;
  const CellCutter::Result result = wanted.cells.Cut(wanted.box, boxes, cells_left);
  // Each reader shard will be asked which of the holders it takes.
  std::string too_long = steps_.Take(wanted.cells.holder_count() * readers.size());
  if (!too_long.empty()) return too_long;
  switch (result) {
    case CellCutter::Result::kHole:
      return absl::StrCat("is held by nobody in ", ShowBox(wanted.cells.hole()), " of ",
                          ShowBox(wanted.box), ", which a reader wants");
    case CellCutter::Result::kTooMany:
      return absl::StrCat("is cut into more than ", kReadItemsMax, " pieces");
    case CellCutter::Result::kCovered:
      break;
  }
  cells_left -= wanted.cells.holder_count();
  return "";
}

bool TensorMatch::HasChoice() const {
  for (const Wanted& wanted : std::span(wanted_).first(wanted_count_)) {
    if (wanted.cells.holder_count() > wanted.cells.count()) return true;
  }
  return false;
}

// --- who brings what ----------------------------------------------------------------------------

uint64_t TensorMatch::Preference(uint32_t shard, const Fingerprint& reader) {
  if (!is_name_hashed_) {
    name_hash_ = FingerprintOf(reader_.tensors()[reader_tensor_].name).lo;
    is_name_hashed_ = true;
  }
  return PreferenceOf(name_hash_, reader, source_.shards()[shard].fingerprint);
}

const Sharding::Slice& TensorMatch::Owner(const Wanted& wanted, size_t cell,
                                          const Fingerprint& reader, const SourceFilter& may_use) {
  const std::span<const uint32_t> holders = wanted.cells.holders(cell);
  if (holders.size() == 1) return wanted.sources[holders.front()];
  const Sharding::Slice* owner = nullptr;
  uint64_t most = 0;
  for (uint32_t holder : holders) {
    const Sharding::Slice& slice = wanted.sources[holder];
    if (may_use && !may_use(slice.shard)) continue;
    const uint64_t preference = Preference(slice.shard, reader);
    const bool same = owner != nullptr && preference == most;
    if (owner != nullptr && (same ? &slice > owner : preference < most)) continue;
    owner = &slice;
    most = preference;
  }
  return *owner;
}

std::span<const TensorMatch::Owned> TensorMatch::Choose(const Wanted& wanted,
                                                        const Fingerprint& reader,
                                                        const SourceFilter& may_use) {
  owned_.clear();
  for (size_t i = 0; i < wanted.cells.count(); ++i) {
    owned_.push_back({&Owner(wanted, i, reader, may_use), wanted.cells.cell(i)});
  }
  const auto by_source = [](const Owned& a, const Owned& b) { return a.source < b.source; };
  if (!std::is_sorted(owned_.begin(), owned_.end(), by_source)) {
    std::stable_sort(owned_.begin(), owned_.end(), by_source);
  }
  const auto same_source = [](const Owned& a, const Owned& b) { return a.source == b.source; };
  if (std::adjacent_find(owned_.begin(), owned_.end(), same_source) != owned_.end()) MergeCells();
  return owned_;
}

// What other sources' edges cut apart, and one source brings after all, is made one box again: the
// fewest copies, and those of one source in order.
void TensorMatch::MergeCells() {
  const size_t dimensions = owned_.front().cell.size();
  merged_.clear();
  merged_.reserve(owned_.size() * dimensions);
  size_t kept = 0;
  for (const Owned& next : owned_) {
    merged_.insert(merged_.end(), next.cell.begin(), next.cell.end());
    const auto cell = [&](size_t i) {
      return std::span(merged_).subspan(i * dimensions, dimensions);
    };
    owned_[kept] = {next.source, cell(kept)};
    ++kept;
    while (kept > 1 && owned_[kept - 2].source == owned_[kept - 1].source) {
      const std::optional<size_t> joint = JointOf(cell(kept - 2), cell(kept - 1));
      if (!joint) break;
      cell(kept - 2)[*joint].end = cell(kept - 1)[*joint].end;
      merged_.resize(merged_.size() - dimensions);
      --kept;
    }
  }
  owned_.resize(kept);
}

uint64_t PreferenceOf(uint64_t name_hash, const Fingerprint& reader, const Fingerprint& source) {
  const uint64_t of_source = Random(source.lo).Next();
  return Random(name_hash ^ Random(reader.lo ^ of_source).Next()).Next();
}

}  // namespace tensorhub
