// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R6: what ranks report of the fetch that they are in. A decision is restored by the store, or by
// any rank that heard it of a hub without this store. Who was in it and is not heard of within the
// grace is not waited for.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/remedy.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

// R6: whether the store has every fetch that this worker may be in. A decision is on disk before
// anybody hears it, and goes only with its end. A worker of another hub, or of one without data,
// may be in a fetch that this store knows nothing of.
bool KnowsItsFetches(const Id128& store, const SessionOpened& event) {
  return store && event.known_store == store;
}

}  // namespace

// R3: it has nothing outstanding of a fetch that was aborted and that it does not name any more.
void Hub::State::EndUnreported(Worker& worker, const SessionOpened& event) {
  const bool named = event.open_fetch && IsIn(worker, event.open_fetch->transaction);
  if (!named) graph_.EndAborted(worker);
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
  if (!group.open) {
    const bool reopens = recovering_ && !KnowsItsFetches(options_.store, event);
    return reopens ? Filling::kOpen : Filling::kOver;
  }
  const bool same = IsOpenFetch(worker, fetch) && group.open->publication == holding.publication &&
                    (recovering_ || FindOpenMember(worker.id) != nullptr);
  return same ? Filling::kOpen : Filling::kOver;
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
  const bool opens = !group.open && !KnowsItsFetches(options_.store, event);
  if (recovering_ && !over && (same || opens)) {
    Reopen(worker, fetch, event.holding ? &*event.holding : nullptr);
    // R6: nobody can feed it, and it knows of no source to complain about.
    const bool refused = event.holding && !event.holding->complete && !worker.reference;
    if (refused) AbortOf(worker, absl::AbortedError("what it reads is something else by now"));
    return;
  }
  absl::Status outcome = OutcomeOf(worker.id.key, fetch.transaction);
  if (outcome.ok()) return;
  if (!worker.read && !fetch.finished) graph_.RestoreAborted(worker, fetch);
  Send(worker, AbortRead{fetch.transaction, std::move(outcome)});
}

void Hub::State::Resume(Worker& worker, const OpenFetch& fetch, Member& member) {
  const bool filling = worker.reference && worker.reference->state == ReferenceState::kFilling;
  if (filling && !member.begun) {
    StartRead(worker, member);
    return graph_.QueueForAssignment(worker);
  }
  graph_.Compare(worker, fetch);
}

// R6: a decision that the store does not know is restored by any rank that heard it.
void Hub::State::Reopen(Worker& worker, const OpenFetch& fetch, const Holding* holding) {
  Group& group = GroupOf(worker.id.key);
  if (!group.open) {
    group.open.emplace();
    group.open->id = fetch.transaction;
    group.open->publication = fetch.publication;
    group.open->version = fetch.version;
    group.open->sharding = fetch.sharding;
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
  changes_.groups.insert({worker.id.key.model, worker.id.key.group});
  if (!member.begun || member.finished) return;
  // The decision is the group's, as its first rank reported it.
  StartRead(worker, member);
  graph_.Restore(worker, fetch);
}

// A rank that neither reported the fetch nor asked for its decision goes on without it: it holds
// the publication whole, or it did not come back, or it gave up.
void Hub::State::SettleRecovered(const GroupKey& key, Group& group) {
  if (!group.open) return;
  Transaction& transaction = *group.open;
  std::optional<Rank> missing;
  bool all_away = true;
  for (Rank rank = 0; rank < transaction.world_size; ++rank) {
    const auto member = transaction.members.find(rank);
    if (member != transaction.members.end() && member->second.known) continue;
    const Worker* worker = FindWorker({key.model, key.group, rank});
    const bool holds = worker != nullptr && worker->alive && worker->reference &&
                       worker->reference->publication == transaction.publication &&
                       worker->reference->state == ReferenceState::kComplete;
    if (!holds) {
      missing = missing.value_or(rank);
      all_away = all_away && (worker == nullptr || !worker->alive);
      continue;
    }
    Member& voter = transaction.members[rank];
    voter.incarnation = worker->id.incarnation;
    voter.already_held = voter.finished = voter.known = true;
    changes_.groups.insert(key);
  }
  if (!missing) return CommitIfWhole(key);
  // R8: a rank that is here and does not name the fetch has given it up. Others may be cut off.
  const absl::Status status = absl::AbortedError(
      absl::StrCat("rank ", *missing, " of ", key.group,
                   " did not come back after the server's restart; fetch again"));
  Abort(key, AsOutage(status, all_away));
}

}  // namespace tensorhub::hub
