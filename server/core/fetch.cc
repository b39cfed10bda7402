// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R6 until the decision: ranks join, and when all of the group are there, one version is chosen for
// all of them, once.

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/remedy.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

bool IsFull(const Roster& roster, const GroupKey& key, const Group& group) {
  if (group.forming.empty()) return false;
  const Worker* worker = roster.FindWorker({key.model, key.group, group.forming.begin()->first});
  return worker != nullptr && group.forming.size() == worker->world_size;
}

void TellDecision(Calls& calls, Worker& worker, const Transaction& transaction) {
  const Member& member = transaction.members.at(worker.id.key.rank);
  FetchDecision decision;
  decision.transaction = transaction.id;
  decision.publication = transaction.publication;
  decision.version = transaction.version;
  decision.term = transaction.term;
  decision.world_size = transaction.world_size;
  decision.chunk_bytes = transaction.chunk_bytes;
  decision.attachment = member.attachment;
  decision.already_held = member.already_held;
  decision.sharding = transaction.sharding;
  calls.Finish(worker, absl::OkStatus(), decision);
}

}  // namespace

void Hub::State::On(const JoinFetchOp& op) {
  Worker* worker = Start(op, OpKind::kJoinFetch);
  if (worker == nullptr) return;
  // R6: asked again, of a hub that has the decision from its store.
  Member* member = FindOpenMember(worker->id);
  if (member != nullptr && member->join == op.op) {
    member->known = true;
    return TellDecision(calls_, *worker, *GroupOf(worker->id.key).open);
  }
  if (!documents_.HasLayout(op.layout)) {
    const absl::Status status = absl::FailedPreconditionError(
        absl::StrCat("unknown layout ", ToHex(op.layout), "; put it, then join again"));
    return calls_.ReplyRetryable(*worker, WithRemedy(status, Remedy::kPutDocuments));
  }
  // A rank that joins anew has given up what it was in.
  AbortOf(*worker, absl::AbortedError("it began another fetch"));
  const GroupKey key{worker->id.key.model, worker->id.key.group};
  Group& group = groups_[key];
  calls_.SetDeadline(*worker, op.timeout_ms);
  group.forming[worker->id.key.rank] = Join{op.selector, op.layout, op.held_in, op.whole};
  worker->record = {};
  worker->record.joined = now_;
  for (const auto& [rank, join] : group.forming) {
    if (join.selector == op.selector) continue;
    return RefuseForming(key, group,
                         absl::InvalidArgumentError(absl::StrCat(
                             "the ranks of ", key.group, " ask for different versions: rank ", rank,
                             " for ", ToString(join.selector), ", rank ", worker->id.key.rank,
                             " for ", ToString(op.selector))));
  }
  if (!retention_.IsAwaited(*worker, op.selector)) {
    const std::string why =
        absl::StrCat("nobody waits any more for a copy of ", ToString(op.selector));
    return RefuseForming(key, group, absl::AbortedError(why));
  }
  Resolve(key, group);
}

void Hub::State::LeaveForming(Worker& worker) {
  const auto it = groups_.find({worker.id.key.model, worker.id.key.group});
  if (it == groups_.end() || it->second.forming.erase(worker.id.key.rank) == 0) return;
  totals_.End(worker.record, now_, absl::CancelledError("it waits for it no more"));
}

void Hub::State::JoinDeadline(Worker& worker) {
  if (!IsPending(worker, OpKind::kJoinFetch)) return;
  const GroupKey key{worker.id.key.model, worker.id.key.group};
  const Group& group = groups_.at(key);
  std::string why =
      NotInTime(key.model, group.forming.at(worker.id.key.rank).selector, FindModel(key.model));
  if (!IsFull(*this, key, group)) {
    const auto joined = [&](Rank rank) { return group.forming.contains(rank); };
    why = absl::StrCat("not every rank of ", key.group, " joined the fetch in time; missing: ",
                       RanksWithout(worker.world_size, joined));
  } else if (recovering_) {
    why = "the server is recovering; try again in a few seconds";
  } else if (const auto wanted = choice_.Wanted(key.model, group); wanted.ok()) {
    // Only a group that cuts the version in another way waits for more.
    const Sharding& origin = (*wanted)->origin();
    const auto known = [&](Rank rank) {
      const auto shard = origin.shards.find(rank);
      return shard != origin.shards.end() && documents_.HasLayout(shard->second.layout);
    };
    const std::string lost = RanksWithout(origin.world_size, known);
    why = absl::StrCat("version ", (*wanted)->version, " of ", key.model,
                       " is cut in another way, and ");
    absl::StrAppend(&why, lost.empty() ? "it was not planned in time how to read it; try again"
                                       : absl::StrCat("the server has lost the layouts of ", lost,
                                                      "; publish the version again"));
  }
  totals_.End(worker.record, now_, absl::DeadlineExceededError(why));
  LeaveForming(worker);
  calls_.Finish(worker, absl::DeadlineExceededError(why));
}

// Called when a rank joined, a version became visible, or the recovery ended.
void Hub::State::Resolve(const GroupKey& key, Group& group) {
  if (recovering_ || group.open || !IsFull(*this, key, group)) return;
  const VersionSelector selector = group.forming.begin()->second.selector;
  const auto wanted = choice_.Wanted(key.model, group);
  if (!wanted.ok()) {
    if (!selector.waits()) RefuseForming(key, group, wanted.status());
    return;
  }
  Publication& publication = *FindPublication(key.model, (*wanted)->id);
  const absl::StatusOr<Sharding*> sharding = ShardingFor(key, group, publication);
  if (!sharding.ok()) return RefuseForming(key, group, sharding.status());
  if (*sharding != nullptr) Decide(key, group, publication, **sharding);
}

// R6: it waits no more for the answer of that call. The hub may think so still, if their connection
// broke, and the answer may have been a decision, of which the worker has never heard.
void Hub::State::GiveUpJoin(Worker& worker, OpId join) {
  if (join == 0) return;
  if (IsPending(worker, OpKind::kJoinFetch) && worker.op.id <= join) {
    LeaveForming(worker);
    calls_.ReplyRetryable(worker, absl::CancelledError("the caller hung up"));
  }
  const Member* member = FindOpenMember(worker.id);
  if (member == nullptr || member->join == 0 || member->join > join || member->begun) return;
  AbortUnfinished(worker, absl::AbortedError("it has given the fetch up"));
}

void Hub::State::Decide(const GroupKey& key, Group& group, const Publication& publication,
                        const Sharding& sharding) {
  Transaction transaction;
  transaction.id = random_.NextId();
  transaction.publication = publication.id;
  transaction.version = publication.version;
  transaction.term = publication.term;
  transaction.sharding = sharding.ref();
  transaction.world_size = sharding.world_size;
  transaction.chunk_bytes = sharding.chunk_bytes;
  const auto forming = std::exchange(group.forming, {});
  for (const auto& [rank, join] : forming) {
    Worker& worker = *FindWorker({key.model, key.group, rank});
    Member& member = transaction.members[rank];
    member.incarnation = worker.id.incarnation;
    member.join = worker.op.id;
    member.attachment = sharding.shards.at(rank).attachment;
    member.already_held = worker.reference && worker.reference->publication == publication.id &&
                          worker.reference->state == ReferenceState::kComplete;
    member.known = true;
    worker.record.version = transaction.version;
    worker.record.decided = now_;
    worker.record.already_held = member.already_held;
    TellDecision(calls_, worker, transaction);
  }
  group.open = std::move(transaction);
  changes_.groups.insert(key);
}

void Hub::State::RefuseForming(const GroupKey& key, Group& group, const absl::Status& status) {
  for (const auto& [rank, join] : std::exchange(group.forming, {})) {
    Worker& worker = *FindWorker({key.model, key.group, rank});
    totals_.End(worker.record, now_, status);
    calls_.Finish(worker, status);
  }
}

}  // namespace tensorhub::hub
