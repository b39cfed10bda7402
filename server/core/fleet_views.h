// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is shown of a fleet that is too large to be listed: counts, a part of a list, the upper part
// of a tree. Looking at a row costs little, copying it costs most: only what is shown is copied.

#ifndef TENSORHUB_SERVER_CORE_FLEET_VIEWS_H_
#define TENSORHUB_SERVER_CORE_FLEET_VIEWS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/location.h"
#include "common/time.h"
#include "server/core/totals.h"
#include "server/core/views.h"

namespace tensorhub::hub {

// Counts of workers and of reads that run.
struct FleetView {
  uint32_t stalled = 0;                     // workers that stand still by their own word
  std::array<uint32_t, 4> reads_by_tier{};  // by the Tier of their (first) source
  uint32_t reads_without_source = 0;
  TimeMs oldest_read_ms = 0;
  uint32_t withdrawn = 0;  // workers that an operator has taken out of service
  Totals totals;
};

// Which workers are listed.
struct WorkerQuery {
  enum class Which { kAll, kStalled, kDisconnected, kDraining, kFilling, kBehind };
  Which which = Which::kAll;
  std::string model;               // empty: of all models
  std::optional<WorkerKey> after;  // those behind it, in the order of their keys
  size_t limit = 0;
};

// From whom a member reads, and how.
struct FeedView {
  WorkerKey source;
  Tier tier = Tier::kRemote;
  std::string way;  // how the bytes come; empty: not said yet
};

// One holder of a version, in its place in the tree.
struct MemberView {
  ReferenceView reference;
  bool reads = false;  // it is being filled now, be it that it waits for a source
  TimeMs running_ms = 0;
  std::vector<FeedView> feeds;  // by the first of them it hangs in the tree
  uint32_t below_left_out = 0;  // who read from it, directly or through others, and are not listed
};

// Who reads a version from whom. First those at the top that feed somebody or have not got all of
// it, then who reads from them, level by level, then holders that feed nobody.
struct ReplicationView {
  uint32_t members = 0;
  uint32_t complete = 0;           // of them, those that have all of it, and serve it
  std::vector<MemberView> listed;  // a source comes before its readers
  uint32_t idle_left_out = 0;      // holders that read nothing and feed nobody
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_FLEET_VIEWS_H_
