// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R8: references are soft state, rebuilt from what workers report when a session opens. For one
// lease after a start, absence proves nothing.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/state.h"

namespace tensorhub::hub {

void Hub::State::BeginRecovery(TimeMs until) {
  recovering_ = true;
  timers_.insert(Timer{until, Timer::Kind::kGrace, 0, 0});
}

void Hub::State::EndRecovery() {
  recovering_ = false;
  AskAfterRecovery();
  for (const auto& [key, group] : groups_) SettleEpoch(key);
  for (auto& [key, worker] : workers_) {
    if (Reads(worker)) IsFed(worker) ? ReturnInside(worker) : Orphaned(worker);
    if (!worker.op.deferred || !IsPending(worker, OpKind::kPublish)) continue;
    const PublishOp op = *std::exchange(worker.op.deferred, std::nullopt);
    Publish(worker, op);
  }
  for (auto& [key, group] : groups_) SettleRecovered(key, group);
  for (const auto& [name, model] : models_) {
    news_.insert(name);
    RetentionChanged(name);
  }
  SetPinTimer();
}

// R3, R5: a whole holder has come back, for whom readers elsewhere may have waited.
void Hub::State::OfferReported(Worker& holder) {
  RetryRedirects(PublicationOf(holder), holder.id.key.rank);
  DrawNearer(holder);
}

// Everything that a worker says of itself when a session opens.
void Hub::State::MergeReport(Worker& worker, const SessionOpened& event) {
  if (worker.reference && !Confirms(worker, event)) DropUnconfirmed(worker);
  if (!worker.reference && event.holding) {
    if (absl::Status status = ListReported(worker, event); !status.ok()) {
      Say(LogLine::Level::kWarning,
          absl::StrCat(ToString(worker.id.key), ": reported version ", event.holding->version,
                       " is not listed: ", std::string(status.message())));
      Send(worker, Dropped{event.holding->generation, status});
      // It frees its buffers then; a publish of theirs that is under way must not list them. Nor of
      // buffers that it may come to call held by an outcome which it has not heard yet.
      const bool whole =
          event.holding->complete || (event.open_fetch && event.open_fetch->finished);
      if (whole) Disowned(worker, event.holding->generation);
    }
  }
  Vouch(worker, /*verified=*/false);
  AskOnceMore(worker);
  TellIfVisible(worker, event);
  EndUnreported(worker, event);
  MergeOpenFetch(worker, event);
  GiveUpJoin(worker, event.gave_up_join);
}

// R2: what became so while it was away, or in an answer that it did not hear.
void Hub::State::TellIfVisible(const Worker& worker, const SessionOpened& event) {
  const auto& holding = event.holding;
  const bool knows = holding && (holding->visible || !holding->published);
  if (knows || !worker.reference || !PublicationOf(worker).visible) return;
  Send(worker, Visible{worker.reference->publication});
}

// R3: it has nothing outstanding of a fetch that was aborted and that it does not name any more.
void Hub::State::EndUnreported(Worker& worker, const SessionOpened& event) {
  const bool named = event.open_fetch && IsIn(worker, event.open_fetch->transaction);
  if (!named) EndAborted(worker);
}

bool Hub::State::Confirms(const Worker& worker, const SessionOpened& event) const {
  const Reference& reference = *worker.reference;
  if (IsAboutToRead(worker, event)) return true;
  if (event.holding) {
    return event.holding->publication == reference.publication &&
           event.holding->generation == reference.generation;
  }
  // A publisher that has not heard the answer yet does not know what it holds.
  return worker.op.kind == OpKind::kPublish && worker.op.state != OpRecord::State::kOpen;
}

// Its read began with its unpublish, of which it has not heard yet: it reports what it is giving
// up, or nothing.
bool Hub::State::IsAboutToRead(const Worker& worker, const SessionOpened& event) const {
  const Reference& reference = *worker.reference;
  if (reference.state != ReferenceState::kFilling || reference.valid_chunks > 0) return false;
  if (!event.open_fetch || !IsIn(worker, event.open_fetch->transaction)) return false;
  return !event.holding || event.holding->generation < reference.generation;
}

void Hub::State::DropUnconfirmed(Worker& worker) {
  Say(LogLine::Level::kInfo, absl::StrCat(ToString(worker.id.key), " holds version ",
                                          worker.reference->version, " no longer"));
  const absl::Status reason = absl::AbortedError("its buffers hold something else");
  AbortHeldBy(worker, reason);
  if (IsPending(worker, OpKind::kPublish)) Finish(worker, reason);
  RemoveReference(worker);
  EndRead(worker);
}

// R1, the other way round: one number for a publication.
bool Hub::State::HasOtherNumber(const Model& model, const Holding& holding) const {
  const auto same = model.held.find(holding.version);
  if (same != model.held.end() && same->second.id == holding.publication) return false;
  const auto other = [&](Version version, const PublicationId& id) {
    return version != holding.version && id == holding.publication;
  };
  return std::any_of(model.held.begin(), model.held.end(),
                     [&](const auto& entry) { return other(entry.first, entry.second.id); }) ||
         std::any_of(model.visible.begin(), model.visible.end(),
                     [&](const auto& entry) { return other(entry.first, entry.second); });
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
  const auto layout = layouts_.find(holding.layout);
  const uint64_t bytes = layout == layouts_.end() ? 0 : layout->second->total_bytes();
  const Chunking chunking{bytes, holding.chunk_bytes};
  if (absl::Status status = CheckChunking(chunking); !status.ok()) return status;
  const uint32_t chunks = layout == layouts_.end() ? kChunkCountMax : chunking.count();
  if (holding.valid_chunks > chunks) {
    return absl::InvalidArgumentError(
        absl::StrCat("valid_chunks ", holding.valid_chunks, " is above ", chunks));
  }
  const Model& model = models_.at(worker.id.key.model);
  if (HasOtherNumber(model, holding)) {
    return absl::InvalidArgumentError("its publication has another number");
  }
  // R1: one content behind a number; who comes with another one is too late.
  const Publication* held = FindPublication(worker.id.key.model, holding.version);
  if (held == nullptr) {
    const auto visible = model.visible.find(holding.version);
    if (visible == model.visible.end() || visible->second == holding.publication) {
      return absl::OkStatus();
    }
    // The number was being published anew, since nobody held the content that was visible before.
    if (holding.published && !holding.visible) return absl::OkStatus();
  }
  if (held == nullptr || held->id != holding.publication ||
      held->world_size != holding.world_size || held->chunk_bytes != holding.chunk_bytes) {
    return absl::AlreadyExistsError("the number has another publication by now");
  }
  const auto shard = held->shards.find(worker.id.key.rank);
  if (shard == held->shards.end() || shard->second.layout == holding.layout) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError("the version has another layout");
}

Publication& Hub::State::Recreate(const std::string& name, const Holding& holding) {
  Model& model = models_.at(name);
  const auto [it, created] = model.held.try_emplace(holding.version);
  Publication& publication = it->second;
  if (!created) return publication;
  publication.id = holding.publication;
  publication.model = name;
  publication.version = holding.version;
  publication.world_size = holding.world_size;
  publication.chunk_bytes = holding.chunk_bytes;
  // All its holders were gone for a while; that it was visible is known.
  const auto visible = model.visible.find(holding.version);
  publication.visible = visible != model.visible.end() && visible->second == publication.id;
  return publication;
}

absl::Status Hub::State::ListReported(Worker& worker, const SessionOpened& event) {
  const Holding& holding = *event.holding;
  if (absl::Status status = CheckReported(worker, holding); !status.ok()) return status;
  const Filling filling = FillingOf(worker, event);
  if (filling == Filling::kOver) return absl::AbortedError("its fetch is over");
  if (IsOfEarlierEpoch(worker, holding)) {
    return absl::AbortedError("it was given up before it was whole; publish it again");
  }
  Publication& publication = Recreate(worker.id.key.model, holding);
  const Shard& shard =
      EnsureShard(publication, worker.id.key.rank, holding.layout, holding.attachment);
  // What was fetched, or is being fetched, was visible; what was published may not have been.
  const bool seen = holding.visible || !holding.published;
  const bool news = seen && !std::exchange(publication.visible, true);
  if (news) MoveLatest(publication, /*rewind=*/false);
  ReferenceState state = ReferenceState::kFilling;
  if (filling == Filling::kDone) {
    state = publication.visible ? ReferenceState::kComplete : ReferenceState::kPublishing;
  }
  const bool has_all = !holding.complete && event.open_fetch->finished;
  const uint32_t chunks = shard.chunks.value_or(holding.valid_chunks);
  AddReference(worker, publication, holding.generation, state,
               has_all ? chunks : holding.valid_chunks);
  worker.reference->epoch = Known(worker.id.key, holding.epoch);
  worker.medium = holding.medium;
  if (state == ReferenceState::kPublishing) CompleteIfWhole(publication, worker.id.key.group);
  if (news) CompletePublished(publication);
  return absl::OkStatus();
}

// R2: it is known only now to have been visible. Who published it may have reported before, and
// counts as who does later, wherever the rest of the group is.
void Hub::State::CompletePublished(Publication& publication) {
  std::vector<Worker*> published;
  for (const auto& [rank, shard] : publication.shards) {
    for (const auto& [serial, holder] : shard.holders) {
      if (holder->reference->state == ReferenceState::kPublishing) published.push_back(holder);
    }
  }
  for (Worker* holder : published) {
    SetState(*holder, ReferenceState::kComplete);
    ReattachReaders(*holder);
    TellVisible(*holder, publication);
    RetryRedirects(publication, holder->id.key.rank);
  }
}

// R6: what became of the fetch that fills the buffers, if one does.
Hub::State::Filling Hub::State::FillingOf(const Worker& worker, const SessionOpened& event) {
  const Holding& holding = *event.holding;
  if (holding.complete) return Filling::kDone;
  if (!event.open_fetch) return Filling::kOver;
  const OpenFetch& fetch = *event.open_fetch;
  const Group& group = GroupOf(worker.id.key);
  if (fetch.publication != holding.publication) return Filling::kOver;
  if (group.last && group.last->transaction.id == fetch.transaction) {
    const Outcome& last = *group.last;
    const auto member = last.transaction.members.find(worker.id.key.rank);
    const bool committed = last.status.ok() && fetch.finished &&
                           last.transaction.publication == holding.publication &&
                           member != last.transaction.members.end() &&
                           member->second.incarnation == worker.id.incarnation;
    return committed ? Filling::kDone : Filling::kOver;
  }
  if (!group.open) return recovering_ ? Filling::kOpen : Filling::kOver;
  const bool same = IsOpenFetch(worker, fetch) && group.open->publication == holding.publication &&
                    (recovering_ || FindOpenMember(worker.id) != nullptr);
  return same ? Filling::kOpen : Filling::kOver;
}

// R9: the ranks of a fetch are those of one group; a report does not make it larger or smaller.
bool Hub::State::IsOpenFetch(const Worker& worker, const OpenFetch& fetch) const {
  const auto group = groups_.find({worker.id.key.model, worker.id.key.group});
  if (group == groups_.end() || !group->second.open) return false;
  const Transaction& open = *group->second.open;
  return open.id == fetch.transaction && open.world_size == worker.world_size;
}

void Hub::State::MergeOpenFetch(Worker& worker, const SessionOpened& event) {
  Group& group = GroupOf(worker.id.key);
  const bool over =
      group.last && event.open_fetch && group.last->transaction.id == event.open_fetch->transaction;
  if (!over) Acknowledge(worker);
  if (!event.open_fetch) return;
  const OpenFetch& fetch = *event.open_fetch;
  const bool same = IsOpenFetch(worker, fetch);
  Member* member = FindOpenMember(worker.id);
  if (same && member != nullptr && member->known) return Resume(worker, fetch, *member);
  if (recovering_ && !over && (same || !group.open)) {
    Reopen(worker, fetch, event.holding ? &*event.holding : nullptr);
    // R6: nobody can feed it, and it knows of no source to complain about.
    const bool refused = event.holding && !event.holding->complete && !worker.reference;
    if (refused) AbortOf(worker, absl::AbortedError("what it reads is something else by now"));
    return;
  }
  absl::Status outcome = OutcomeOf(worker.id.key, fetch.transaction);
  if (outcome.ok()) return;
  if (!worker.read) CountAborted(worker, fetch);
  Send(worker, AbortRead{fetch.transaction, std::move(outcome)});
}

// R3: it does not know yet that its fetch is over, and may be at that source until it says so.
void Hub::State::CountAborted(Worker& worker, const OpenFetch& fetch) {
  if (fetch.finished) return;
  Read& read = worker.read.emplace();
  read.transaction = fetch.transaction;
  read.publication = fetch.publication;
  read.version = fetch.version;
  read.running = false;
  read.last = fetch.assignment;
  AwaitReported(worker, fetch);
}

// What was on its way when the session broke may not have arrived, in either direction.
void Hub::State::Resume(Worker& worker, const OpenFetch& fetch, Member& member) {
  const bool filling = worker.reference && worker.reference->state == ReferenceState::kFilling;
  if (filling && !member.begun) {
    StartRead(worker, member);
    return Orphaned(worker);
  }
  if (IsIn(worker, fetch.transaction)) {
    ReleaseOthers(worker, fetch.assignment);
    // It has been led on since its first report, and what it said of that source may be lost.
    const AssignmentNumber first = worker.read->reported.value_or(0);
    if (first != 0 && first != fetch.assignment) LeaveReported(worker, first);
  }
  if (IsFed(worker) && worker.read->current != fetch.assignment) SendAssign(worker);
}

// R6: a decision is restored by any rank that heard it.
void Hub::State::Reopen(Worker& worker, const OpenFetch& fetch, const Holding* holding) {
  Group& group = GroupOf(worker.id.key);
  if (!group.open) {
    group.open.emplace();
    group.open->id = fetch.transaction;
    group.open->publication = fetch.publication;
    group.open->version = fetch.version;
    group.open->world_size = worker.world_size;
  }
  const bool has = worker.reference && holding != nullptr &&
                   worker.reference->publication == group.open->publication;
  Member& member = group.open->members[worker.id.key.rank];
  member.incarnation = worker.id.incarnation;
  member.already_held = has && holding->complete;
  // R9: of what the hub has listed otherwise, a report does not make a read.
  member.begun = has && worker.reference->state == ReferenceState::kFilling;
  member.finished = has && fetch.finished;
  member.known = true;
  changed_groups_.insert({worker.id.key.model, worker.id.key.group});
  if (!member.begun || member.finished) return;
  // The decision is the group's, as its first rank reported it.
  StartRead(worker, member);
  worker.read->last = fetch.assignment;
  worker.read->reported = fetch.assignment;
  AwaitReported(worker, fetch);
}

void Hub::State::AwaitReported(Worker& worker, const OpenFetch& fetch) {
  if (!fetch.source || fetch.assignment == 0) return;
  AwaitSource(worker, fetch.assignment, *fetch.source, fetch.source_generation);
  if (Worker* source = FindLive(*fetch.source); source != nullptr && source->reference) {
    ReattachReaders(*source);
  }
}

// R3: until the reader says that it has left it, which counts there once it is listed (again): it
// has yet to report; or its lease had run out, and it comes back with the same buffers.
void Hub::State::AwaitSource(Worker& reader, AssignmentNumber number, const WorkerIdentity& source,
                             Generation generation) {
  reader.read->awaits[number] = source;
  awaited_[source].push_back({reader.serial, number, generation});
}

// R3: readers that read from this reference, as they said, or as was known before it was lost. One
// whose publish is repeated gets them when it serves, or drains; that may be after the grace, when
// their fetch is over.
void Hub::State::ReattachReaders(Worker& source) {
  const auto it = awaited_.find(source.id);
  if (it == awaited_.end() || source.reference->state == ReferenceState::kPublishing) return;
  // Those of a later generation came for a read that it has announced, and has yet to begin.
  const auto later = std::stable_partition(
      it->second.begin(), it->second.end(),
      [&](const auto& reader) { return reader.generation <= source.reference->generation; });
  const std::vector<AwaitedReader> waiting(it->second.begin(), later);
  it->second.erase(it->second.begin(), later);
  if (it->second.empty()) awaited_.erase(it);
  for (const auto& [serial, assignment, generation] : waiting) {
    Worker* reader = FindRow(serial);
    reader->read->awaits.erase(assignment);
    if (reader->read->assignments.contains(assignment)) continue;
    if (source.reference->generation != generation) continue;
    if (!IsOfItsShard(source, *reader) || &source == reader) continue;
    const Tier tier = TierBetween(source.location, reader->location);
    // R5: directives of the earlier life may have been lost on the way, so that two reports do not
    // fit; such a reader gets a new source. R3: until it says that it has left, it may read here,
    // as may one that was led elsewhere meanwhile, or whose fetch has been aborted.
    const bool feeds = recovering_ && Reads(*reader) && !IsFed(*reader) &&
                       reader->read->last == assignment && !source.node.IsBelow(reader->node);
    feeds ? AttachReader(*reader, assignment, source, tier)
          : CountReader(*reader, assignment, source, tier);
  }
}

void Hub::State::AwaitNoMore(Worker& reader, AssignmentNumber number) {
  const auto awaits = reader.read->awaits.extract(number);
  if (!awaits) return;
  const auto it = awaited_.find(awaits.mapped());
  std::erase_if(it->second, [&](const AwaitedReader& other) {
    return other.reader == reader.serial && other.assignment == number;
  });
  if (it->second.empty()) awaited_.erase(it);
}

// R9: a report may name anybody.
bool Hub::State::IsOfItsShard(const Worker& source, const Worker& reader) const {
  return source.id.key.model == reader.id.key.model && source.id.key.rank == reader.id.key.rank &&
         source.reference->publication == reader.read->publication;
}

// A rank that neither reported the fetch nor asked for its decision goes on without it: it holds
// the publication whole, or it did not come back, or it gave up.
void Hub::State::SettleRecovered(const GroupKey& key, Group& group) {
  if (!group.open) return;
  Transaction& transaction = *group.open;
  for (Rank rank = 0; rank < transaction.world_size; ++rank) {
    const auto member = transaction.members.find(rank);
    if (member != transaction.members.end() && member->second.known) continue;
    const Worker* worker = FindWorker({key.model, key.group, rank});
    const bool holds = worker != nullptr && worker->alive && worker->reference &&
                       worker->reference->publication == transaction.publication &&
                       worker->reference->state == ReferenceState::kComplete;
    if (!holds) {
      return Abort(key, absl::AbortedError(absl::StrCat(
                            "rank ", rank, " of ", key.group,
                            " did not come back after the server's restart; fetch again")));
    }
    Member& voter = transaction.members[rank];
    voter.incarnation = worker->id.incarnation;
    voter.already_held = voter.finished = voter.known = true;
    changed_groups_.insert(key);
  }
  CommitIfWhole(key);
}

}  // namespace tensorhub::hub
