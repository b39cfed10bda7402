// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The rows of the hub and the event in progress, without the hub: for tests of one of its parts
// alone. The test makes the rows, and does what the hub would do with what the part hands back.

#ifndef TENSORHUB_TESTS_UNIT_SERVER_CORE_PART_WORLD_H_
#define TENSORHUB_TESTS_UNIT_SERVER_CORE_PART_WORLD_H_

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/core/catalog.h"
#include "server/core/groups.h"
#include "server/core/hub.h"
#include "server/core/roster.h"
#include "server/core/turn.h"

namespace tensorhub::hub {

class PartWorld : public Turn, public Roster, public Catalog, public Groups {
 public:
  static constexpr char kModel[] = "m";

  PartWorld() {
    now_ = 1'000'000;
    out_ = &effects;
  }

  // The next event, after so long.
  void Pass(TimeMs ms) {
    now_ += ms;
    effects.clear();
  }
  void Recover(bool recovering) { recovering_ = recovering; }

  // A live worker with a session.
  Worker& Join(const std::string& group, Rank rank = 0) {
    const WorkerKey key{kModel, group, rank};
    models_[kModel];
    groups_[{kModel, group}];
    Worker& worker = workers_[key];
    worker.id = {key, 1};
    Number(worker);
    worker.world_size = 1;
    worker.alive = true;
    worker.session = worker.serial;
    sessions_[worker.session] = &worker;
    ++alive_;
    return worker;
  }
  void Close(Worker& worker) {
    sessions_.erase(worker.session);
    worker.session = 0;
  }
  void Die(Worker& worker) {
    if (worker.session != 0) Close(worker);
    worker.alive = false;
    --alive_;
  }

  // A version of one shard, visible.
  Publication& Publish(VersionNumber version) {
    Model& model = models_[kModel];
    const PublicationId id{0, version};
    Publication& publication = model.publications[id];
    publication.id = id;
    publication.model = kModel;
    publication.version = version;
    publication.visible = true;
    publication.published.world_size = 1;
    publication.published.shards[0];
    model.held[version] = &publication;
    model.visible[version] = id;
    model.latest = model.visible.rbegin()->first;
    return publication;
  }
  void Hold(Worker& worker, Publication& publication,
            ReferenceState state = ReferenceState::kComplete) {
    Shard& shard = publication.published.shards.at(0);
    Reference& reference = worker.reference.emplace();
    reference.publication = publication.id;
    reference.row = &publication;
    reference.version = publication.version;
    reference.generation = 1;
    reference.state = state;
    reference.sharding = &publication.published;
    reference.shard = &shard;
    shard.holders[worker.serial] = &worker;
    ++publication.references;
    if (state != ReferenceState::kComplete) return;
    if (++shard.complete == 1) publication.published.whole_shards = 1;
  }
  void Release(Worker& worker) {
    Shard& shard = *worker.reference->shard;
    const bool whole = worker.reference->state == ReferenceState::kComplete;
    if (whole && --shard.complete == 0) worker.reference->sharding->whole_shards = 0;
    shard.holders.erase(worker.serial);
    --worker.reference->row->references;
    worker.reference.reset();
  }

  // The effects of the event that are of this type.
  template <typename Wanted>
  std::vector<Wanted> All() const {
    std::vector<Wanted> all;
    for (const Effect& effect : effects) {
      if (const auto* found = std::get_if<Wanted>(&effect)) all.push_back(*found);
    }
    return all;
  }
  // The sessions to which a directive of this type was sent.
  template <typename Body>
  std::vector<SessionId> SentTo() const {
    std::vector<SessionId> sessions;
    for (const Directive& directive : All<Directive>()) {
      if (std::holds_alternative<Body>(directive.body)) sessions.push_back(directive.session);
    }
    return sessions;
  }

  Effects effects;
  HubOptions options;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_TESTS_UNIT_SERVER_CORE_PART_WORLD_H_
