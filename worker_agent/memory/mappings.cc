// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/memory/mappings.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/text.h"

namespace tensorhub::agent {

Mappings Mappings::Read(std::istream& lines) {
  Mappings mappings;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 2));
    const std::vector<std::string> ends = absl::StrSplit(words[0], '-');
    Range range;
    if (words.size() < 2 || words[1].size() < 2 || ends.size() != 2) continue;
    if (!absl::SimpleHexAtoi(ends[0], &range.begin)) continue;
    if (!absl::SimpleHexAtoi(ends[1], &range.end)) continue;
    if (words[1][0] == 'r')
      range.access = words[1][1] == 'w' ? Access::kReadAndWrite : Access::kRead;
    mappings.ranges_.push_back(range);
  }
  return mappings;
}

Mappings::Access Mappings::Of(const void* data, uint64_t bytes) const {
  auto at = reinterpret_cast<uintptr_t>(data);
  const uintptr_t end = at + bytes;
  if (end < at) return Access::kNone;
  Access access = Access::kReadAndWrite;
  auto range =
      std::upper_bound(ranges_.begin(), ranges_.end(), at,
                       [](uintptr_t place, const Range& each) { return place < each.end; });
  for (; at < end; at = range->end, ++range) {
    if (range == ranges_.end() || range->begin > at) return Access::kNone;
    access = std::min(access, range->access);
  }
  return access;
}

absl::StatusOr<std::string> FirstReadOnly(std::span<const TensorBuffer> tensors) {
  std::ifstream lines("/proc/self/maps");
  if (!lines) return "";
  const Mappings mappings = Mappings::Read(lines);
  std::string read_only;
  for (const TensorBuffer& tensor : tensors) {
    if (tensor.cuda || tensor.bytes == 0) continue;
    const Mappings::Access access = mappings.Of(tensor.data, tensor.bytes);
    if (access == Mappings::Access::kNone) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "tensor %s: its %d bytes at %p are not, or not all, memory that this process can read; "
          "register memory that is allocated, and stays so as long as the client",
          Shown(tensor.name), tensor.bytes, tensor.data));
    }
    if (access == Mappings::Access::kRead && read_only.empty()) read_only = tensor.name;
  }
  return read_only;
}

}  // namespace tensorhub::agent
