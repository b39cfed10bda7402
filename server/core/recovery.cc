// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R8: references are soft state, rebuilt from what workers report when a session opens. For one
// lease after a start, absence proves nothing; unless everybody is back who was there before.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/adoption.h"
#include "server/core/content.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

Sharding& EnsureSharding(Publication& publication, const Holding& holding) {
  Sharding& sharding =
      holding.sharding ? publication.converted[holding.sharding.id] : publication.published;
  sharding.full |= holding.sharding.full;  // R8: unless an older agent reported it first
  if (sharding.world_size != 0) return sharding;
  sharding.id = holding.sharding.id;
  sharding.world_size = holding.world_size;
  sharding.chunk_bytes = holding.chunk_bytes;
  return sharding;
}

// Holders of what this worker reports, if none of them may publish it, and they say otherwise how
// it is cut.
std::vector<Worker*> ReadersInTheWay(const Publication* known, Rank rank, const Holding& holding) {
  if (known == nullptr || holding.sharding) return {};
  const Sharding& said = known->published;
  const auto shard = said.shards.find(rank);
  const bool same_shard = shard == said.shards.end() || shard->second.layout == holding.layout;
  const bool same_cut =
      said.world_size == holding.world_size && said.chunk_bytes == holding.chunk_bytes;
  std::vector<Worker*> readers;
  if (same_shard && same_cut) return readers;
  for (const auto& [other, each] : said.shards) {
    for (const auto& [serial, holder] : each.holders) {
      if (holder->may_publish) return {};
      readers.push_back(holder);
    }
  }
  return readers;
}

// R1, the other way round: one number for a publication.
bool HasOtherNumber(const Model& model, const Holding& holding) {
  const auto known = model.publications.find(holding.publication);
  if (known != model.publications.end()) return known->second.version != holding.version;
  return std::any_of(model.visible.begin(), model.visible.end(), [&](const auto& entry) {
    return entry.first != holding.version && entry.second == holding.publication;
  });
}

// The term for an agent that knows nothing of terms: as far as this hub remembers.
Term TermOf(const Model& model, const Holding& holding) {
  const auto known = model.publications.find(holding.publication);
  if (known != model.publications.end()) return known->second.term;
  const bool stands = IsVisibleAs(model, holding.version, holding.publication);
  return stands ? model.terms.now() : Term{};
}

// R1: one content behind a number; who comes with another one is too late.
absl::Status CheckNumber(const Model& model, const Holding& holding) {
  const absl::Status late = absl::AlreadyExistsError("the number has another publication by now");
  if (const auto held = model.held.find(holding.version); held != model.held.end()) {
    return held->second->id == holding.publication ? absl::OkStatus() : late;
  }
  const bool taken = model.visible.contains(holding.version);
  if (!taken || IsVisibleAs(model, holding.version, holding.publication)) return absl::OkStatus();
  // The number was being published anew, since nobody held the content that was visible before.
  return holding.seen() ? late : absl::OkStatus();
}

// The worker's read began with its unpublish, of which it has not heard yet: it reports what it is
// giving up, or nothing.
bool IsAboutToRead(const Worker& worker, const SessionOpened& event) {
  const Reference& reference = *worker.reference;
  if (reference.state != ReferenceState::kFilling || reference.valid_chunks > 0) return false;
  if (!event.open_fetch || !IsIn(worker, event.open_fetch->transaction)) return false;
  return !event.holding || event.holding->generation < reference.generation;
}

bool Confirms(const Worker& worker, const SessionOpened& event) {
  const Reference& reference = *worker.reference;
  if (IsAboutToRead(worker, event)) return true;
  if (event.holding) {
    return event.holding->publication == reference.publication &&
           event.holding->generation == reference.generation;
  }
  // A publisher that has not heard the answer yet does not know what it holds.
  return worker.op.kind == OpKind::kPublish && worker.op.state != OpRecord::State::kOpen;
}

}  // namespace

void Hub::State::BeginRecovery(TimeMs until) {
  recovering_ = true;
  SetGrace(until);
}

void Hub::State::EndRecovery() {
  recovering_ = false;
  Adoption{*this}.Settle();
  SetGrace(std::nullopt);
  absentees_.EndGrace();
  retention_.BeginRoundAfterRecovery();
  LetGo();
  for (const auto& [key, group] : groups_) SettleEpoch(key);
  SettleCandidates();
  for (auto& [key, worker] : workers_) {
    graph_.EndGrace(worker);
    if (!worker.op.deferred || !IsPending(worker, OpKind::kPublish)) continue;
    Publish(worker, TakeDeferred(worker));
  }
  for (auto& [key, group] : groups_) SettleRecovered(key, group);
  for (const auto& [name, model] : models_) {
    newly_visible_.insert(name);
    retention_.WantedChanged(name);
  }
  retention_.SetPinTimer();
}

// R8: then absence proves what it always does, before the lease is over.
bool Hub::State::HaveAllReported() {
  if (!recovering_ || !options_.recovering || adoptions_.IsUnsettled()) return false;
  if (!absentees_.HaveAllSaid()) return false;
  Say(LogLine::Level::kInfo, absl::StrCat("every worker that was there before has reported, ",
                                          now_ - started_, " ms after the server's start"));
  return true;
}

// R3, R5: a whole holder has come back, for whom readers elsewhere may have waited.
void Hub::State::OfferReported(Worker& holder) {
  graph_.RetryRedirects(*holder.reference->sharding, holder.id.key.rank);
  graph_.DrawNearer(holder);
}

// Everything that a worker says of itself when a session opens.
void Hub::State::MergeReport(Worker& worker, const SessionOpened& event) {
  if (worker.reference && !Confirms(worker, event)) DropUnconfirmed(worker);
  if (event.holding) HearDigest(worker, *event.holding);
  if (!worker.reference && event.holding) {
    if (absl::Status status = ListReported(worker, event); !status.ok()) {
      Say(LogLine::Level::kWarning,
          absl::StrCat(ToString(worker.id.key), ": reported version ", event.holding->version,
                       " is not listed: ", std::string(status.message())));
      Send(worker, Dropped{event.holding->generation, status});
      // The worker frees its buffers then; a publish of theirs that is under way must not list
      // them. Nor of buffers that it may come to call held by an outcome which it has not heard
      // yet.
      const bool whole =
          event.holding->complete || (event.open_fetch && event.open_fetch->finished);
      if (whole) DropReferencesUpTo(worker, event.holding->generation);
    }
  }
  graph_.ConfirmHolder(worker, /*verified=*/false);
  graph_.AskOnceMore(worker);
  TellIfVisible(worker, event);
  Content{*this}.AskAgain(worker);
  EndUnreported(worker, event);
  MergeOpenFetch(worker, event);
  GiveUpJoin(worker, event.abandoned_join_op);
  TellIfSuperseded(worker);
}

// R2: what became so while it was away, or in an answer that it did not hear.
void Hub::State::TellIfVisible(const Worker& worker, const SessionOpened& event) {
  const auto& holding = event.holding;
  const bool knows = holding && holding->seen();
  if (knows || !worker.reference || !PublicationOf(worker).visible) return;
  Send(worker, Visible{worker.reference->publication});
}

void Hub::State::DropUnconfirmed(Worker& worker) {
  Say(LogLine::Level::kInfo, absl::StrCat(ToString(worker.id.key), " holds version ",
                                          worker.reference->version, " no longer"));
  const absl::Status reason = absl::AbortedError("its buffers hold something else");
  AbortHeldBy(worker, reason);
  if (IsPending(worker, OpKind::kPublish)) calls_.Finish(worker, reason);
  RemoveReference(worker);
  graph_.EndRead(worker);
}

// R2: who published in a later term, without beginning it, says that it has begun.
void Hub::State::LearnTerm(const std::string& name, const Holding& holding) {
  const bool later = holding.term->number > models_.at(name).terms.now().number;
  const bool begins = holding.term->since == holding.version;  // once it is whole
  if (later && !holding.seen() && !begins) BeginTerm(name, *holding.term, /*by=*/"");
}

// R2: what it says of terms. What was superseded before it was whole is over; so is what would have
// begun a term, once a group of other processes publishes it.
absl::Status Hub::State::CheckReportedTerm(const Worker& worker, const Holding& holding) const {
  const Term& term = *holding.term;
  if (term.number > kTermMax || (term.number > 0 && holding.version < term.since)) {
    return absl::InvalidArgumentError("the report's term is malformed");
  }
  const Model& model = models_.at(worker.id.key.model);
  if (model.terms.Contradict(term)) {
    return absl::AlreadyExistsError(absl::StrCat("term ", term.number, " is another one by now"));
  }
  if (const Publication* known = FindPublication(worker.id.key.model, holding.publication)) {
    const bool may_join = known->visible || !IsAnothers(*known, worker.id.key.group);
    if (known->term == term && may_join) return absl::OkStatus();
    return absl::AlreadyExistsError("its publication is another one");
  }
  const bool superseded = model.terms.Supersede(term.number, holding.version);
  const bool stands = IsVisibleAs(model, holding.version, holding.publication);
  if (stands && (superseded || term.number > model.terms.now().number)) {
    return absl::InvalidArgumentError("its publication is of another term");
  }
  if (holding.seen() || !superseded) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("term ", model.terms.now().number, " superseded it"));
}

// R9: a report is checked like any other input.
absl::Status Hub::State::CheckReported(const Worker& worker, const Holding& holding) const {
  if (!holding.publication || holding.world_size == 0 || holding.world_size > kWorldSizeMax ||
      worker.id.key.rank >= holding.world_size) {
    return absl::InvalidArgumentError("the report is malformed");
  }
  if (holding.generation == 0 || holding.generation > kGenerationMax ||
      holding.generation < worker.generation) {
    return absl::AbortedError(absl::StrCat("generation ", holding.generation, " is below ",
                                           worker.generation, ", which was seen before"));
  }
  const auto layout = documents_.FindLayout(holding.layout);
  const uint64_t bytes = layout == nullptr ? 0 : layout->total_bytes();
  const Chunking chunking{bytes, holding.chunk_bytes};
  if (absl::Status status = CheckChunking(chunking); !status.ok()) return status;
  const uint32_t chunks = layout == nullptr ? kChunkCountMax : chunking.count();
  if (holding.valid_chunks > chunks) {
    return absl::InvalidArgumentError(
        absl::StrCat("valid_chunks ", holding.valid_chunks, " is above ", chunks));
  }
  const Model& model = models_.at(worker.id.key.model);
  if (HasOtherNumber(model, holding)) {
    return absl::InvalidArgumentError("its publication has another number");
  }
  if (absl::Status status = CheckReportedTerm(worker, holding); !status.ok()) return status;
  // What is superseded, or begins a term, does not stand for its number (yet).
  const bool begins = holding.term->number > model.terms.now().number;
  if (!begins && !model.terms.Supersede(holding.term->number, holding.version)) {
    if (absl::Status status = CheckNumber(model, holding); !status.ok()) return status;
  }
  const Publication* publication = FindPublication(worker.id.key.model, holding.publication);
  if (publication == nullptr) return absl::OkStatus();
  const Sharding* known = FindSharding(*publication, holding.sharding.id);
  if (known == nullptr && publication->converted.size() >= kConvertedMax) {
    return absl::ResourceExhaustedError("its publication is held in too many shardings already");
  }
  if (known == nullptr || known->world_size == 0) return absl::OkStatus();
  if (known->world_size != holding.world_size || known->chunk_bytes != holding.chunk_bytes) {
    return absl::AlreadyExistsError("its publication is another one");
  }
  const auto found = known->shards.find(worker.id.key.rank);
  if (found == known->shards.end()) return absl::OkStatus();
  const Shard& shard = found->second;
  if (shard.layout != holding.layout) {
    return absl::AlreadyExistsError("the version has another layout");
  }
  const bool other = shard.digest && holding.digest && shard.digest != holding.digest;
  if (other) return absl::AlreadyExistsError("the version has other bytes");
  return absl::OkStatus();
}

Publication& Hub::State::Recreate(const std::string& name, const Holding& holding) {
  Model& model = models_.at(name);
  const auto [it, created] = model.publications.try_emplace(holding.publication);
  Publication& publication = it->second;
  if (!created) return publication;
  publication.id = holding.publication;
  publication.model = name;
  publication.version = holding.version;
  publication.term = *holding.term;
  publication.superseded = model.terms.Supersede(holding.term->number, holding.version);
  publication.visible = publication.superseded;
  if (publication.superseded || IsCandidate(publication)) return publication;
  model.held[holding.version] = &publication;
  // All its holders were gone for a while; that it was visible is known.
  publication.visible = IsVisibleAs(model, holding.version, publication.id);
  if (IsLatest(publication)) {
    publication.identity = model.identity;
    publication.publishers = model.publishers;
  }
  return publication;
}

// R4, R8: what its publishers made whole in an earlier life of the hub, of which none of them has
// heard so. They publish these buffers again, and a fetch that was decided then goes on.
const Publication* Hub::State::TakeUp(const Worker& worker, const PublishOp& op,
                                      const Publication* wanted) {
  const std::string& name = worker.id.key.model;
  const Model& model = models_.at(name);
  // Readers that cut it otherwise may hold it.
  const bool unknown =
      wanted == nullptr ? !model.held.contains(op.version) : wanted->published.world_size == 0;
  if (!unknown || model.latest != op.version) return wanted;
  if (!MadeItWhole(worker, op.generation, model.publishers)) return wanted;
  Holding holding;
  holding.publication = model.visible.at(op.version);
  holding.version = op.version;
  holding.world_size = worker.world_size;
  holding.chunk_bytes = op.chunk_bytes;
  holding.term = TermOf(model, holding);
  Publication& publication = Recreate(name, holding);
  EnsureSharding(publication, holding);
  return &publication;
}

absl::Status Hub::State::ListReported(Worker& worker, const SessionOpened& event) {
  Holding holding = *event.holding;
  if (!holding.term) holding.term = TermOf(models_.at(worker.id.key.model), holding);
  // R9: how it is cut is for its publishers to say, whoever came first.
  if (worker.may_publish) {
    const Publication* known = FindPublication(worker.id.key.model, holding.publication);
    for (Worker* reader : ReadersInTheWay(known, worker.id.key.rank, holding)) {
      if (reader->reference) DropOther(*reader);
    }
  }
  if (absl::Status status = CheckReported(worker, holding); !status.ok()) return status;
  const Filling filling = FillingOf(worker, event);
  if (filling == Filling::kOver) return absl::AbortedError("its fetch is over");
  if (IsOfEarlierEpoch(worker, holding)) {
    return absl::AbortedError("it was given up before it was whole; publish it again");
  }
  LearnTerm(worker.id.key.model, holding);
  Publication& publication = Recreate(worker.id.key.model, holding);
  Sharding& sharding = EnsureSharding(publication, holding);
  Shard& shard = EnsureShard(sharding, worker.id.key.rank, holding.layout, holding.attachment);
  const bool begins = holding.seen() && IsCandidate(publication);
  const bool news = holding.seen() && !std::exchange(publication.visible, true);
  if (begins) BeginTermWith(publication, /*by=*/"");
  // A publisher of it may have reported before, and counts as one that does later.
  joiners_due_ |= news;
  if (news) {
    MoveLatest(publication);
    CompletePublished(publication, /*news=*/true);
  }
  ReferenceState state = ReferenceState::kFilling;
  if (filling == Filling::kDone) {
    state = publication.visible ? ReferenceState::kComplete : ReferenceState::kPublishing;
  }
  const bool has_all = !holding.complete && event.open_fetch->finished;
  const uint32_t chunks = shard.chunks.value_or(holding.valid_chunks);
  AddReference(worker, publication, sharding, holding.generation, state,
               has_all ? chunks : holding.valid_chunks);
  worker.reference->epoch = Known(worker.id.key, holding.epoch);
  worker.reference->digest = holding.digest;
  worker.reference->hashing = holding.hashing;
  // R8: who fed it in an earlier life of this hub may be late.
  if (recovering_ && shard.complete == 0) shard.may_return = true;
  if (holding.digest) SettleDigest(publication, shard);
  worker.medium = holding.medium;
  if (state == ReferenceState::kPublishing) CompleteIfWhole(publication, worker.id.key.group);
  return absl::OkStatus();
}

}  // namespace tensorhub::hub
