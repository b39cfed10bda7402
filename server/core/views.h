// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the hub shows of itself: snapshots for operators, tables and tests. Read-only.

#ifndef TENSORHUB_SERVER_CORE_VIEWS_H_
#define TENSORHUB_SERVER_CORE_VIEWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/content_identity.h"
#include "common/ids.h"
#include "common/location.h"
#include "common/sharding_id.h"
#include "common/time.h"
#include "server/core/fetch_record.h"

namespace tensorhub::hub {

struct ModelView {
  std::string model;
  bool has_latest = false;
  VersionNumber latest = 0;  // the newest version that ever became visible
  uint32_t versions = 0;     // listed now
  uint32_t replicas = 0;     // complete ones
  uint32_t keep_latest = 0;
  uint32_t workers = 0;
  TermNumber term = 0;        // the latest (R2)
  bool latest_held = false;   // it can be fetched
  uint32_t behind = 0;        // workers that hold an older version than the latest
  VersionNumber lag_max = 0;  // by how many numbers, the farthest of them
};

// kLost: visible once, not whole now; kSuperseded: by a later term, and held still.
enum class VersionState { kPublishing, kVisible, kLost, kSuperseded };
std::string_view ToString(VersionState state);

struct VersionView {
  VersionNumber version = 0;
  PublicationId publication;
  TermNumber term = 0;  // in which it was published; 0 also: not known any more
  VersionState state = VersionState::kPublishing;
  ContentDigest identity;  // none: not known (yet)
  uint32_t world_size = 0;
  uint64_t bytes = 0;  // of all shards
  uint64_t chunk_bytes = 0;
  uint32_t complete_replicas = 0;
  uint32_t filling_replicas = 0;
  std::vector<Fingerprint> layouts;      // by rank; zero where not yet published
  std::vector<Fingerprint> attachments;  // likewise
  // Why it is not lost by an orderly unpublish (R7): "latest", "pin NAME"; none: it may be.
  std::vector<std::string> kept_by;
};

enum class ReferenceState { kPublishing, kFilling, kComplete, kDraining };
std::string_view ToString(ReferenceState state);

struct ReferenceView {
  std::string model;
  std::string group;
  VersionNumber version = 0;
  PublicationId publication;
  WorkerIdentity worker;
  std::string location;
  std::string medium;    // "host"
  ShardingRef sharding;  // how its group has cut it; none: as it was published
  Generation generation = 0;
  ReferenceState state = ReferenceState::kPublishing;
  uint32_t valid_chunks = 0;
  uint32_t chunks = 0;
  uint32_t readers = 0;  // counted from assignment
};

struct WorkerView {
  WorkerIdentity worker;
  uint32_t world_size = 0;
  std::string location;
  bool connected = false;
  bool stable = true;
  TimeMs lease_left_ms = 0;
  TimeMs stalled_ms = 0;   // by its own word: it lives, and stands still
  bool withdrawn = false;  // an operator has taken it out of service
  uint32_t readers = 0;    // that count at what it holds
  bool holds = false;
  // What it holds:
  VersionNumber version = 0;
  ReferenceState state = ReferenceState::kPublishing;
  uint32_t valid_chunks = 0;
  uint32_t chunks = 0;
};

struct TransferView {
  WorkerIdentity reader;
  WorkerIdentity source;  // the first of them; incarnation 0: none assigned yet
  uint32_t sources = 0;   // that feed it now
  VersionNumber version = 0;
  uint32_t valid_chunks = 0;
  uint32_t chunks = 0;
  uint64_t chunk_bytes = 0;
  Tier tier = Tier::kRemote;
  TimeMs running_ms = 0;
  std::string way;       // how the bytes come; empty: not said yet
  ShardingRef sharding;  // how its group cuts it; none: as it was published
};

// A worker's last fetch.
struct FetchView {
  WorkerKey reader;
  FetchRecord record;
};

struct StatusView {
  uint32_t models = 0;
  uint32_t workers = 0;
  uint32_t connected = 0;
  uint32_t references = 0;
  uint32_t transfers = 0;
  bool recovering = false;
  uint64_t decisions = 0;  // sources assigned since the start
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_VIEWS_H_
