// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What must hold between any two events, whatever the workers say. Everything that is counted as
// it changes is counted anew here.

#include "server/core/invariants.h"

#include <algorithm>

#include "common/check.h"

namespace tensorhub::hub {

void Hub::State::Invariants::Check() const {
  CheckSettled();
  state.graph_.CheckInvariants();
  size_t alive = 0;
  size_t sessions = 0;
  size_t calls = 0;
  for (const auto& [key, worker] : state.workers_) {
    TH_CHECK(worker.id.key == key && worker.id.incarnation != 0);
    TH_CHECK(state.FindRow(worker.serial) == &worker);
    CheckReference(worker);
    CheckRead(worker);
    state.graph_.CheckInvariants(worker);
    // R8: each worker has its lease, or is remembered as dead; what is dead holds nothing.
    TH_CHECK(worker.alive || (!worker.reference && !worker.read && worker.session == 0));
    TH_CHECK(worker.alive != state.dead_.contains({worker.died, key}));
    TH_CHECK(!worker.alive || state.timers_.contains(Timer{worker.lease_timer, Timer::Kind::kLease,
                                                           worker.serial, 0}));
    TH_CHECK(worker.fenced.size() <= kFencedMax);
    TH_CHECK(!worker.fell_silent || (worker.alive && worker.session == 0));
    TH_CHECK(!worker.question ||
             state.timers_.contains(
                 Timer{worker.question->until, Timer::Kind::kQuestion, worker.serial, 0}));
    TH_CHECK(
        (worker.complainers.empty() && !worker.slow) ||
        state.timers_.contains(Timer{worker.forget_at, Timer::Kind::kForget, worker.serial, 0}));
    if (worker.alive) ++alive;
    if (worker.session != 0) {
      ++sessions;
      TH_CHECK(state.sessions_.contains(worker.session) &&
               state.sessions_.at(worker.session) == &worker);
    }
    // A caller waits exactly while its operation is pending.
    if (worker.op.call != 0) {
      ++calls;
      TH_CHECK(worker.op.state == OpRecord::State::kPending);
      TH_CHECK(state.calls_.IsCallOf(worker.op.call, worker));
    }
    TH_CHECK(worker.op.deadline == 0 ||
             (worker.op.state == OpRecord::State::kPending &&
              state.HasTimer({worker.op.deadline, Timer::Kind::kOperation, worker.serial, 0})));
    TH_CHECK(!IsPending(worker, OpKind::kPublish) || worker.op.deferred || worker.reference);
  }
  TH_CHECK(alive == state.alive_ && sessions == state.sessions_.size() &&
           calls == state.calls_.size());
  TH_CHECK(state.dead_.size() == state.workers_.size() - state.alive_ &&
           state.rows_.size() == state.workers_.size());

  for (const auto& [name, model] : state.models_) CheckModel(name, model);
  for (const auto& [key, group] : state.groups_) CheckGroup(key, group);
  CheckDurable();
  state.retention_.CheckInvariants();
  state.waits_.CheckInvariants();
  state.absentees_.CheckInvariants();
  state.silence_.CheckInvariants();
  // R9: every table that a client can fill has its bound.
  const HubLimits& limits = state.options_.limits;
  const size_t awaited = state.recovering_ ? state.restored_ : 0;
  TH_CHECK(state.alive_ <= limits.workers && state.dead_.size() <= limits.dead_workers + awaited);
  const DurableState& kept = state.options_.durable;
  TH_CHECK(state.models_.size() <=
           std::max(limits.models, kept.models.size() + kept.retention.size()));
  TH_CHECK(state.groups_.size() <= state.workers_.size());
  state.documents_.CheckInvariants();
}

// Settle left nothing behind.
void Hub::State::Invariants::CheckSettled() const {
  TH_CHECK(state.drained_.empty() && state.newly_visible_.empty());
  TH_CHECK(!state.joiners_due_ || state.joiners_.empty() || state.recovering_);
}

// R2: who is there belongs to the group's present epoch, once it is known who came back; and so
// does what is unfinished.
void Hub::State::Invariants::CheckEpoch(const Worker& worker) const {
  if (!worker.alive) return;
  const GroupEpoch epoch = state.groups_.at({worker.id.key.model, worker.id.key.group}).epoch;
  TH_CHECK(state.recovering_ || worker.epoch_known == epoch);
  const bool unfinished =
      worker.reference && worker.reference->state == ReferenceState::kPublishing;
  TH_CHECK(!unfinished || worker.reference->epoch >= epoch);
}

// A worker's one holding: listed at its publication, and each reader of it knows that it is one.
void Hub::State::Invariants::CheckReference(const Worker& worker) const {
  CheckEpoch(worker);
  if (!worker.reference) return;
  const Reference& reference = *worker.reference;
  const Publication* publication =
      state.FindPublication(worker.id.key.model, reference.publication);
  // R1: a reference belongs to a publication, with its number.
  TH_CHECK(publication != nullptr && publication->version == reference.version);
  TH_CHECK(publication == reference.row);
  const ShardingId& sharding = reference.sharding->id;
  TH_CHECK(reference.sharding ==
           (sharding ? &publication->converted.at(sharding) : &publication->published));
  const auto shard = reference.sharding->shards.find(worker.id.key.rank);
  TH_CHECK(shard != reference.sharding->shards.end() && reference.shard == &shard->second);
  TH_CHECK(shard->second.holders.contains(worker.serial));
  // R4: one generation, never above what the worker was seen with; a prefix of the shard.
  TH_CHECK(reference.generation != 0 && reference.generation <= worker.generation);
  TH_CHECK(!shard->second.chunks || reference.valid_chunks <= *shard->second.chunks);
  // R3: each reader is counted from its assignment until it is released.
  uint32_t absent = 0;
  for (const ReaderSlot& slot : reference.readers) {
    const Worker* reader = slot.reader;
    TH_CHECK(state.FindRow(reader->serial) == reader && reader->read);
    if (reader->absent) ++absent;
    const auto assignment = reader->read->assignments.find(slot.assignment);
    TH_CHECK(assignment != reader->read->assignments.end());
    TH_CHECK(assignment->second.source == &worker);
    TH_CHECK(assignment->second.generation == reference.generation);
    TH_CHECK(reader->read->publication == reference.publication);
  }
  TH_CHECK(absent == reference.absent_readers);
  // R3: a drain is bounded.
  const bool draining = reference.state == ReferenceState::kDraining;
  TH_CHECK(!draining || state.timers_.contains(
                            Timer{reference.drain_end, Timer::Kind::kDrain, worker.serial, 0}));
  // R2: what is not visible yet serves nobody; what is visible counts, whoever published it.
  const bool publishing = reference.state == ReferenceState::kPublishing;
  TH_CHECK(!publishing || (reference.readers.empty() && !publication->visible));
}

// R6: who reads is listed with what it reads, so that others may follow it, and reads for its
// group.
void Hub::State::Invariants::CheckRead(const Worker& worker) const {
  if (!Reads(worker)) return;
  const Read& read = *worker.read;
  TH_CHECK(worker.reference && worker.reference->publication == read.publication);
  TH_CHECK(worker.reference->state == ReferenceState::kFilling);
  const auto group = state.groups_.find({worker.id.key.model, worker.id.key.group});
  TH_CHECK(group != state.groups_.end() && group->second.open);
  TH_CHECK(group->second.open->id == read.transaction);
}

void Hub::State::Invariants::CheckModel(const std::string& name, const Model& model) const {
  // R2: `latest` is the newest version that ever became visible.
  TH_CHECK(model.latest.has_value() == !model.visible.empty());
  TH_CHECK(!model.latest || model.visible.rbegin()->first == *model.latest);
  for (const auto& [id, publication] : model.publications) {
    TH_CHECK(publication.model == name && publication.id == id);
    CheckPublication(publication);
    CheckStanding(model, publication);
  }
  for (const auto& [version, publication] : model.held) {
    TH_CHECK(model.publications.contains(publication->id) && publication->version == version);
  }
}

// R2: one stands for each number: of what later terms do not supersede.
void Hub::State::Invariants::CheckStanding(const Model& model,
                                           const Publication& publication) const {
  const Term& term = publication.term;
  const auto held = model.held.find(publication.version);
  const bool stands = held != model.held.end() && held->second == &publication;
  const bool by_later = model.terms.Supersede(term.number, publication.version);
  TH_CHECK(publication.visible ? publication.superseded == by_later
                               : publication.superseded || !by_later);
  TH_CHECK(stands == (!publication.superseded && !state.IsCandidate(publication)));
  const bool known = IsVisibleAs(model, publication.version, publication.id);
  TH_CHECK(known == (publication.visible && stands));
}

void Hub::State::Invariants::CheckPublication(const Publication& publication) const {
  const Sharding& published = publication.published;
  // R1: with no holder left it is forgotten.
  TH_CHECK(publication.id && publication.references > 0);
  uint32_t references = 0;
  ForEachSharding(publication, [&](const Sharding& sharding) {
    references += CheckSharding(publication, sharding);
  });
  TH_CHECK(publication.references == references);
  for (const Worker* reader : publication.awaiting) {
    TH_CHECK(Reads(*reader) && reader->reference->publication == publication.id);
  }
  // R1: what is not known of a shard is not known of the whole.
  const bool identified =
      std::all_of(published.shards.begin(), published.shards.end(),
                  [](const auto& entry) { return static_cast<bool>(entry.second.digest); });
  const bool all =
      !published.shards.empty() && identified && published.shards.size() == published.world_size;
  TH_CHECK(!all || publication.identity);
}

// Returns how many references the sharding has.
uint32_t Hub::State::Invariants::CheckSharding(const Publication& publication,
                                               const Sharding& sharding) const {
  TH_CHECK(sharding.shards.size() <= sharding.world_size);
  uint32_t references = 0;
  uint32_t whole_shards = 0;
  std::map<std::string, uint32_t> complete_ranks;
  for (const auto& [rank, shard] : sharding.shards) {
    TH_CHECK(rank < sharding.world_size);
    uint32_t complete = 0;
    size_t draining = 0;
    size_t withdrawn = 0;
    for (const auto& [serial, holder] : shard.holders) {
      const WorkerKey& key = holder->id.key;
      TH_CHECK(state.FindRow(serial) == holder && holder->alive && holder->reference);
      TH_CHECK(key.model == publication.model && key.rank == rank);
      TH_CHECK(holder->reference->publication == publication.id);
      TH_CHECK(holder->reference->shard == &shard);
      ++references;
      const bool drains = holder->reference->state == ReferenceState::kDraining;
      TH_CHECK(shard.draining.contains(holder) == drains);
      TH_CHECK(shard.withdrawn.contains(holder) == holder->withdrawn);
      // R7: it is asked about again when who keeps what it holds may have changed.
      TH_CHECK(!holder->withdrawn || !HoldsWhole(*holder) || state.retention_.Watches(*holder));
      if (holder->withdrawn) ++withdrawn;
      if (drains) ++draining;
      // R2: nobody holds a version completely before it is visible.
      if (holder->reference->state != ReferenceState::kComplete) continue;
      TH_CHECK(publication.visible);
      ++complete;
      ++complete_ranks[key.group];
    }
    TH_CHECK(complete == shard.complete && draining == shard.draining.size());
    TH_CHECK(withdrawn == shard.withdrawn.size());
    state.graph_.CheckSeeds(shard);
    if (complete > 0) ++whole_shards;
    CheckDigests(shard);
  }
  TH_CHECK(whole_shards == sharding.whole_shards);
  TH_CHECK(complete_ranks == sharding.complete_ranks);
  return references;
}

// R1: what its publisher says counts, and a reader's word only where there is nobody to say it.
void Hub::State::Invariants::CheckDigests(const Shard& shard) const {
  if (shard.digest) return;
  bool hashing = false;
  bool said = false;
  for (const auto& [serial, holder] : shard.holders) {
    hashing |= holder->reference->hashing;
    said |= static_cast<bool>(holder->reference->digest);
  }
  TH_CHECK(hashing || !said);
}

// R6, R8: what is kept is what the tables say.
void Hub::State::Invariants::CheckDurable() const {
  TH_CHECK(state.changes_.models.empty() && state.changes_.groups.empty() &&
           state.changes_.retention.empty());
  TH_CHECK(state.changes_.workers.empty() && state.adoptions_.changed.empty());
  TH_CHECK(state.recovering_ || !state.adoptions_.IsUnsettled());
  DurableState wanted;
  wanted.adopted = state.adoptions_.rows;
  for (const auto& [name, model] : state.models_) {
    if (const auto row = state.RowOfModel(name)) wanted.models[name] = *row;
    if (const auto row = state.retention_.RowOf(name)) wanted.retention[name] = *row;
  }
  for (const auto& [key, group] : state.groups_) {
    if (const auto row = state.RowOfGroup(key)) wanted.groups[key] = *row;
  }
  // R8: whoever is there has a row, and so has whoever may come back in this recovery.
  for (const auto& [key, worker] : state.workers_) {
    if (const auto row = state.absentees_.RowOf(key)) wanted.workers[key] = *row;
  }
  state.absentees_.AddRows(wanted.workers);
  TH_CHECK(wanted == state.durable_);
}

// R6: a transaction is its group's ranks, each with the incarnation that joined.
void Hub::State::Invariants::CheckGroup(const GroupKey& key, const Group& group) const {
  for (const auto& [rank, join] : group.forming) {
    const Worker* worker = state.FindWorker({key.model, key.group, rank});
    TH_CHECK(worker != nullptr && worker->alive && IsPending(*worker, OpKind::kJoinFetch));
  }
  if (!group.open) return;
  const Transaction& open = *group.open;
  TH_CHECK(open.id && open.publication && !open.members.empty());
  TH_CHECK(state.recovering_ || open.members.size() == open.world_size);
  for (const auto& [rank, member] : open.members) {
    TH_CHECK(rank < open.world_size);
    const Worker* worker = state.FindWorker({key.model, key.group, rank});
    // R8: while recovering, it may still come back.
    TH_CHECK(member.known || state.recovering_);
    TH_CHECK(worker != nullptr && (worker->alive || !member.known));
    TH_CHECK(worker->id.incarnation == member.incarnation);
    TH_CHECK(worker->world_size == open.world_size);
    TH_CHECK(!Reads(*worker) || worker->read->transaction == open.id);
  }
}

}  // namespace tensorhub::hub
