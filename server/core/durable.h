// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the hub keeps beyond its own life, and no more: a mark per model (R2, R8), what operators
// want kept of it (R7), the newest fetch of each group (R6), and who is there (R8). References are
// not here: they are rebuilt from what workers report. Plain data; a store (server/store) holds it,
// the hub says what changes. What else is to last becomes a further map of rows in both structs.

#ifndef TENSORHUB_SERVER_CORE_DURABLE_H_
#define TENSORHUB_SERVER_CORE_DURABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/content_identity.h"
#include "common/ids.h"
#include "common/sharding_id.h"
#include "common/time.h"

namespace tensorhub::hub {

struct GroupKey {
  std::string model;
  std::string group;
  auto operator<=>(const GroupKey&) const = default;
};

// A rank of the group that made a version whole, and its buffers: a generation has one content.
struct PublisherRow {
  Incarnation incarnation = 0;
  Generation generation = 0;
  bool operator==(const PublisherRow&) const = default;
};

// The workers that made a version whole (R2). One that has not heard so when the server restarts
// publishes it again, and is told by its row from whoever may have other bytes (R1).
struct PublishersRow {
  std::string group;
  std::map<Rank, PublisherRow> ranks;
  bool operator==(const PublishersRow&) const = default;
};

// The newest version that ever became visible, of those that no later term supersedes.
struct ModelRow {
  VersionNumber latest = 0;
  PublicationId publication;
  ContentDigest identity = {};  // none: not known
  PublishersRow publishers = {};
  std::vector<Term> terms = {};  // as Terms::line
  std::string term_by = {};      // who began the last of them, for people
  bool operator==(const ModelRow&) const = default;
};

// One rank of a fetch: who joined, by which call, and what it was told.
struct MemberRow {
  Incarnation incarnation = 0;
  OpId join = 0;  // 0: not known; the fetch was learnt of from the ranks' reports
  bool already_held = false;
  Fingerprint attachment;
  bool operator==(const MemberRow&) const = default;
};

// A group's fetch from its decision until every rank has acknowledged the outcome.
struct GroupRow {
  TransactionId transaction;
  PublicationId publication;
  VersionNumber version = 0;
  Term term = {};  // of the publication
  uint32_t world_size = 0;
  uint64_t chunk_bytes = 0;
  std::map<Rank, MemberRow> members;
  std::optional<absl::Status> outcome;  // none: open
  ContentDigest identity = {};          // of what was fetched; none: not known
  ShardingRef sharding = {};            // by which it is read; none: as it was published
  bool operator==(const GroupRow&) const = default;
};

inline constexpr uint32_t kKeepLatestMax = 1024;

// A pin ends by the wall clock: that of a hub ends with its machine.
struct PinRow {
  VersionNumber version = 0;
  std::optional<TimeMs> until;  // none: until it is taken away
  bool operator==(const PinRow&) const = default;
};

// What must not be lost of a model; no row: what the server gives to all.
struct RetentionRow {
  std::optional<uint32_t> keep_latest;
  std::map<std::string, PinRow> pins;  // by name
  bool operator==(const RetentionRow&) const = default;
};

// R8: a worker that joined and has not ended. It is kept before the worker hears that it has
// joined. Or one whose lease ended in silence, with what it held whole then. One that held nothing,
// and is out of service, is kept as if it had not ended.
struct WorkerRow {
  Incarnation incarnation = 0;
  PublicationId away = {};  // none: it has not ended
  bool withdrawn = false;   // by an operator, out of service (R3)
  bool operator==(const WorkerRow&) const = default;
};

// R8: a store whose workers an operator has had adopted.
struct AdoptedRow {
  bool settled = false;  // one grace has passed since
  bool operator==(const AdoptedRow&) const = default;
};

struct DurableState {
  std::map<std::string, ModelRow> models;
  std::map<GroupKey, GroupRow> groups;
  std::map<std::string, RetentionRow> retention;  // by model
  std::map<WorkerKey, WorkerRow> workers;         // all of them, or none: they are not known
  std::map<Id128, AdoptedRow> adopted;            // by store
  bool operator==(const DurableState&) const = default;
};

// Rows that change together; those without a value go. An effect: nobody may hear of the effects
// that come after it before it is kept.
struct Persist {
  std::map<std::string, std::optional<ModelRow>> models;
  std::map<GroupKey, std::optional<GroupRow>> groups;
  std::map<std::string, std::optional<RetentionRow>> retention;
  std::map<WorkerKey, std::optional<WorkerRow>> workers;
  std::map<Id128, std::optional<AdoptedRow>> adopted;

  bool empty() const {
    return models.empty() && groups.empty() && retention.empty() && workers.empty() &&
           adopted.empty();
  }
  // As if `later` had come after this one.
  void Add(Persist later);
};

void Keep(const Persist& rows, DurableState& state);

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_DURABLE_H_
