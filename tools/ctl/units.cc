// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/units.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tensorhub::ctl {

std::string HumanBytes(uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  // 1023.95 and more would be shown as 1024.0.
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string HumanRate(uint64_t bytes, double seconds) {
  if (seconds <= 0) return "-";
  return absl::StrFormat("%.2f GB/s", static_cast<double>(bytes) / seconds / 1e9);
}

std::string HumanSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds < 0.0995) return absl::StrFormat("%.1f ms", seconds * 1e3);
  if (seconds < 9.995) return absl::StrFormat("%.2f s", seconds);
  if (seconds < 59.95) return absl::StrFormat("%.1f s", seconds);
  const auto whole = static_cast<uint64_t>(std::min(seconds + 0.5, 1e15));
  if (whole < 3600) return absl::StrFormat("%dm %02ds", whole / 60, whole % 60);
  if (whole < 86400) return absl::StrFormat("%dh %02dm", whole / 3600, whole / 60 % 60);
  return absl::StrFormat("%dd %02dh", whole / 86400, whole / 3600 % 24);
}

std::string HumanPercent(uint64_t done, uint64_t total) {
  if (done >= total) return "100%";
  const double share = static_cast<double>(done) / static_cast<double>(total);
  return absl::StrCat(std::min(99, static_cast<int>(share * 100)), "%");
}

std::string RankText(const std::string& group, uint32_t rank) {
  return absl::StrCat(group, "/", rank);
}

std::string SourceText(const std::string& group, uint32_t rank, uint32_t sources) {
  const std::string first = RankText(group, rank);
  return sources > 1 ? absl::StrCat(first, " +", sources - 1) : first;
}

}  // namespace tensorhub::ctl
