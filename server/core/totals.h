// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a hub has counted since it was made, for people (docs/metrics.md). Nothing is decided by it.

#ifndef TENSORHUB_SERVER_CORE_TOTALS_H_
#define TENSORHUB_SERVER_CORE_TOTALS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "common/location.h"
#include "common/time.h"
#include "server/core/fetch_record.h"

namespace tensorhub::hub {

struct Worker;

// In the order in which they follow one another.
inline constexpr std::array<std::string_view, 5> kFetchPhases = {"join", "drain", "assign", "read",
                                                                 "commit"};

// The source that the bytes came from, as far as is known: its tier, and the way as the reader
// says. Empty: it has not said.
struct BytesKey {
  Tier tier = Tier::kRemote;
  std::string way;
  auto operator<=>(const BytesKey&) const = default;
};

struct Totals {
  // R9: readers say it. Others count as "other".
  static constexpr size_t kWaysMax = 64;

  uint64_t succeeded = 0;  // fetches of a rank that have ended
  uint64_t failed = 0;
  std::array<TimeMs, kFetchPhases.size()> phase_ms{};  // of those
  std::map<BytesKey, uint64_t> bytes;                  // that readers have told of

  // Ends it, unless it has ended.
  void End(FetchRecord& record, TimeMs now, const absl::Status& status);
  // A reader that has got further, from so many chunks.
  void CountRead(const Worker& reader, uint32_t before);
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_TOTALS_H_
