// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// References: the only place where they appear, change state and go, so that the counts by shard,
// publication and group always fit, and a version is listed exactly while it is whole.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "server/core/state.h"

namespace tensorhub::hub {

// R1: a shard's layout is what its first publisher said; callers have compared.
Shard& Hub::State::EnsureShard(Sharding& sharding, Rank rank, const Fingerprint& layout,
                               const Fingerprint& attachment) {
  const auto [it, created] = sharding.shards.try_emplace(rank);
  Shard& shard = it->second;
  if (created) {
    shard.layout = layout;
    shard.attachment = attachment;
  }
  const auto document = documents_.FindLayout(shard.layout);
  if (!shard.chunks && document != nullptr) {
    shard.bytes = document->total_bytes();
    shard.chunks = Chunking{shard.bytes, sharding.chunk_bytes}.count();
  }
  return shard;
}

void Hub::State::AddReference(Worker& worker, Publication& publication, Sharding& sharding,
                              Generation generation, ReferenceState state, uint32_t valid_chunks) {
  TH_CHECK(!worker.reference);
  const bool complete = state == ReferenceState::kComplete;
  worker.generation = std::max(worker.generation, generation);
  Shard& shard = sharding.shards.at(worker.id.key.rank);
  Reference& reference = worker.reference.emplace();
  reference.publication = publication.id;
  reference.version = publication.version;
  reference.generation = generation;
  reference.valid_chunks = valid_chunks;
  reference.state = complete ? ReferenceState::kFilling : state;
  reference.row = &publication;
  reference.sharding = &sharding;
  reference.shard = &shard;
  ++publication.references;
  shard.holders[worker.serial] = &worker;
  graph_.List(worker);
  if (worker.withdrawn) shard.withdrawn.insert(&worker);
  complete ? SetState(worker, ReferenceState::kComplete) : graph_.MarkIndexStale(worker);
  graph_.ReattachReaders(worker);
}

void Hub::State::SetState(Worker& worker, ReferenceState state) {
  const ReferenceState before = std::exchange(worker.reference->state, state);
  if (state == ReferenceState::kDraining) worker.reference->shard->draining.insert(&worker);
  graph_.MarkIndexStale(worker);
  if ((before == ReferenceState::kComplete) == (state == ReferenceState::kComplete)) return;
  state == ReferenceState::kComplete ? CountComplete(worker) : UncountComplete(worker);
}

// R2: listed from the moment that every shard has a complete holder.
void Hub::State::CountComplete(Worker& holder) {
  Publication& publication = PublicationOf(holder);
  Sharding& sharding = *holder.reference->sharding;
  Shard& shard = *holder.reference->shard;
  const std::string& group = holder.id.key.group;
  const bool was_listed = publication.listed();
  retention_.KeepersChanged();
  shard.may_return = false;
  if (++shard.complete == 1) ++sharding.whole_shards;
  if (holder.withdrawn) retention_.Watch(holder);
  for (Worker* withdrawn : shard.withdrawn) graph_.MarkIndexStale(*withdrawn);
  Model& model = models_.at(publication.model);
  if (!was_listed && publication.listed() && !publication.superseded) {
    NotifyWatchers(model, publication.model, ModelChange::Kind::kVersionVisible,
                   publication.version, group);
    newly_visible_.insert(publication.model);
    Say(LogLine::Level::kInfo, absl::StrCat("version ", publication.version, " of ",
                                            publication.model, " is complete, by ", group));
  }
  if (++sharding.complete_ranks[group] != sharding.world_size) return;
  NotifyWatchers(model, publication.model, ModelChange::Kind::kReplicaComplete, publication.version,
                 group);
}

void Hub::State::UncountComplete(Worker& holder) {
  Publication& publication = PublicationOf(holder);
  Sharding& sharding = *holder.reference->sharding;
  const std::string& group = holder.id.key.group;
  const bool was_listed = publication.listed();
  if (--holder.reference->shard->complete == 0) --sharding.whole_shards;
  for (Worker* withdrawn : holder.reference->shard->withdrawn) graph_.MarkIndexStale(*withdrawn);
  Model& model = models_.at(publication.model);
  uint32_t& ranks = sharding.complete_ranks[group];
  if (ranks-- == sharding.world_size) {
    NotifyWatchers(model, publication.model, ModelChange::Kind::kReplicaGone, publication.version,
                   group);
  }
  if (ranks == 0) sharding.complete_ranks.erase(group);
  // R8: while recovering, absence proves nothing.
  if (!was_listed || publication.listed() || recovering_) return;
  if (publication.superseded) return;  // which was said
  NotifyWatchers(model, publication.model, ModelChange::Kind::kVersionGone, publication.version,
                 group);
  const std::string what = absl::StrCat("version ", publication.version, " of ", publication.model);
  const std::string last = absl::StrCat(group, " was the last to hold a shard of it");
  const std::vector<std::string> why = retention_.KeptBy(publication);
  if (why.empty()) return Say(LogLine::Level::kInfo, absl::StrCat(what, " is gone: ", last));
  Say(LogLine::Level::kWarning, absl::StrCat(what, " is lost: ", last, ", and it is wanted (",
                                             absl::StrJoin(why, ", "), ")"));
}

// The reference's readers are queued for another source. A publish that waits for its group rests
// on the reference: the caller has ended it.
void Hub::State::RemoveReference(Worker& worker, bool may_return) {
  if (!worker.reference) return;
  if (worker.reference->state != ReferenceState::kFilling) {
    worker.reference->shard->may_return = may_return;
  }
  Calls::TakePublishBack(worker);
  retention_.KeepersChanged();
  SetState(worker, ReferenceState::kDraining);
  timers_.erase(Timer{worker.reference->drain_end, Timer::Kind::kDrain, worker.serial, 0});
  drained_.merge(graph_.TakeDrained());
  drained_.erase(&worker);
  graph_.Unlist(worker);
  Publication& publication = PublicationOf(worker);
  Sharding& sharding = *worker.reference->sharding;
  Shard& shard = *worker.reference->shard;
  shard.draining.erase(&worker);
  shard.withdrawn.erase(&worker);
  Retention::ForgetSuccession(worker);
  shard.holders.erase(worker.serial);
  publication.boxes.Restart();
  --publication.references;
  const bool hashed = worker.reference->hashing;  // then the others' word counts from now on
  worker.reference.reset();
  joiners_due_ = true;
  if (shard.holders.empty() && !publication.visible) {
    sharding.shards.erase(worker.id.key.rank);  // R1: nobody has read it, and nobody will
    publication.identity = {};
  } else if (hashed) {
    SettleDigest(publication, shard);
  }
  ForgetIfUnheld(publication);
}

// A call in a newer generation says that the older one is over, and may overtake what was said of
// it on the session.
void Hub::State::DropOlderReferences(Worker& worker, Generation generation) {
  if (!worker.reference || worker.reference->generation >= generation) return;
  AbortHeldBy(worker, absl::AbortedError("its buffers hold something else"));
  if (worker.reference) RemoveReference(worker);
}

// Generations only rise: what is not held in this one is not held in an earlier one either.
void Hub::State::DropReferencesUpTo(Worker& worker, Generation generation) {
  // A call that is still under way, or waits for the end of the recovery, must not list it (again).
  if (generation < kGenerationMax) worker.generation = std::max(worker.generation, generation + 1);
  if (!worker.reference || worker.reference->generation > generation) return;
  Say(LogLine::Level::kWarning,
      absl::StrCat(ToString(worker.id.key), " holds version ", worker.reference->version,
                   " no longer, by its own word"));
  const absl::Status reason = absl::DataLossError("its buffers are no longer valid");
  AbortHeldBy(worker, reason);
  if (!worker.reference) return;
  if (worker.reference->state == ReferenceState::kDraining) return EndDrain(worker);
  if (IsPending(worker, OpKind::kPublish)) calls_.Finish(worker, reason);
  RemoveReference(worker);
}

// R8: a reference goes by its holder's own word, not by a reader's.
void Hub::State::On(const ProbeAnswer& event) {
  Worker* worker = FindSession(event.session);
  if (worker == nullptr) return;
  if (!event.holds) return DropReferencesUpTo(*worker, event.generation);
  if (worker->reference && worker->reference->generation == event.generation) {
    graph_.ConfirmHolder(*worker, event.verified);
  }
}

// R1: with no holder left, the content is gone and the number may be published anew. That the
// version was visible once stays known.
void Hub::State::ForgetIfUnheld(const Publication& publication) {
  if (publication.references > 0) return;
  Model& model = models_.at(publication.model);
  const auto held = model.held.find(publication.version);
  if (held != model.held.end() && held->second == &publication) model.held.erase(held);
  model.publications.erase(PublicationId(publication.id));  // the id goes with the row
  if (model.visible.size() <= options_.limits.past_versions) return;
  for (auto past = model.visible.begin(); past != model.visible.end(); ++past) {
    if (model.held.contains(past->first) || past->first == model.latest) continue;
    model.visible.erase(past);
    return;
  }
}

// Only ever forward, within the generation and the shard: a source that says otherwise lies or is
// late, and is not believed (R4, R9). A report may arrive after the call that ended its reference
// or its read; that is nothing to speak of.
void Hub::State::On(const Progress& event) {
  Worker* worker = FindSession(event.session);
  if (worker == nullptr) return;
  const std::string who = ToString(worker->id.key);
  Reference* reference = worker->reference ? &*worker->reference : nullptr;
  if (reference == nullptr || reference->publication != event.publication ||
      reference->generation != event.generation) {
    const bool late = event.generation <= worker->generation;
    return Say(late ? LogLine::Level::kDebug : LogLine::Level::kWarning,
               absl::StrCat(who, ": progress of a reference that is not listed (generation ",
                            event.generation, ")"));
  }
  const uint32_t chunks = reference->shard->chunks.value_or(kChunkCountMax);
  if (event.valid_chunks < reference->valid_chunks || event.valid_chunks > chunks) {
    const bool late = event.valid_chunks <= chunks;
    return Say(late ? LogLine::Level::kDebug : LogLine::Level::kWarning,
               absl::StrCat(who, ": progress ", event.valid_chunks, " after ",
                            reference->valid_chunks, " of ", chunks, " chunks refused"));
  }
  const uint32_t before = std::exchange(reference->valid_chunks, event.valid_chunks);
  graph_.NoteProgress(*worker, event.way);
  totals_.CountRead(*worker, before);
  graph_.GotFurther(*worker);
}

}  // namespace tensorhub::hub
