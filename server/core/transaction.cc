// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R6 from the decision to the outcome: all ranks finish and it commits in one event, or one cannot
// and all get the same error.

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/remedy.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

// R1: the receipt. All ranks of the group get the same, once.
ContentDigest IdentityOf(const Catalog& catalog, const std::string& model,
                         const Transaction& transaction) {
  const Publication* publication = catalog.FindPublication(model, transaction.publication);
  if (publication != nullptr && publication->identity) return publication->identity;
  if (transaction.sharding) return {};  // the digests of other shards give something else
  std::vector<ContentDigest> digests;
  for (const auto& [rank, member] : transaction.members) {
    if (!member.digest) return {};
    digests.push_back(member.digest);
  }
  return IdentityOfContent(digests);
}

}  // namespace

void Hub::State::On(const BeginReadOp& op) {
  Worker* worker = Start(op, OpKind::kBeginRead);
  if (worker == nullptr) return;
  const absl::Status status = BeginRead(*worker, op);
  absl::IsUnavailable(status) ? calls_.ReplyRetryable(*worker, status)
                              : calls_.Finish(*worker, status);
}

// R3: sources are assigned only now that the reader's own buffers are free, so that two workers
// never drain for each other.
absl::Status Hub::State::BeginRead(Worker& worker, const ReadStart& start) {
  if (start.generation <= kGenerationMax) DropOlderReferences(worker, start.generation);
  worker.medium = start.medium;
  Member* member = FindMember(worker.id, start.transaction);
  if (member == nullptr) {
    // Never the outcome itself, which may be UNAVAILABLE: "repeat this call". FinishRead tells it.
    const absl::Status outcome = OutcomeOf(worker.id.key, start.transaction);
    return absl::AbortedError(outcome.ok() ? "this fetch is over; fetch again" : outcome.message());
  }
  if (worker.reference && member->begun && worker.reference->generation == start.generation) {
    graph_.QueueForAssignment(worker);  // said again, to a hub that learnt of it by a report
    return absl::OkStatus();
  }
  if (worker.reference) {
    return absl::FailedPreconditionError(absl::StrCat(
        "these buffers still hold version ", worker.reference->version, "; unpublish it first"));
  }
  if (start.generation == 0 || start.generation > kGenerationMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("generation ", start.generation, " is not in 1..", kGenerationMax));
  }
  if (start.generation < worker.generation) {
    return absl::AbortedError(absl::StrCat("generation ", start.generation, " is below ",
                                           worker.generation, ", which was seen before"));
  }
  const Transaction& transaction = *GroupOf(worker.id.key).open;
  Publication* publication = FindPublication(worker.id.key.model, transaction.publication);
  Sharding* sharding =
      publication == nullptr ? nullptr : FindSharding(*publication, transaction.sharding.id);
  if (sharding == nullptr || !sharding->shards.contains(worker.id.key.rank)) {
    // R8: its holders may still report.
    if (recovering_) {
      return absl::UnavailableError("the server is recovering; repeat this call in a moment");
    }
    if (transaction.sharding) {
      return absl::AbortedError("the server has restarted since this was decided; fetch again");
    }
    return choice_.NoHolder(worker.id.key.model, transaction.version, transaction.publication);
  }
  // An earlier, aborted read that it never settled: its buffers are free, by its own word.
  graph_.EndRead(worker);
  AddReference(worker, *publication, *sharding, start.generation, ReferenceState::kFilling, 0);
  StartRead(worker, *member);
  graph_.QueueForAssignment(worker);
  TellIfSuperseded(worker);
  return absl::OkStatus();
}

// Begins the worker's read of its group's open fetch.
void Hub::State::StartRead(Worker& worker, Member& member) {
  const Transaction& transaction = *GroupOf(worker.id.key).open;
  graph_.Begin(worker, transaction);
  member.begun = true;
  // R8: what was in an earlier life of the hub is not known.
  if (worker.record.joined == 0) worker.record.joined = worker.record.decided = now_;
  worker.record.version = transaction.version;
  worker.record.began = now_;
}

void Hub::State::On(const FinishReadOp& op) {
  Worker* worker = Start(op, OpKind::kFinishRead);
  if (worker == nullptr) return;
  Member* member = FindMember(worker->id, op.transaction);
  if (member == nullptr) return FinishLate(*worker, op);
  if (!op.result.ok()) return FinishFailed(*worker, op.result);
  FinishOk(*worker, *member, op.digest);
}

void Hub::State::FinishOk(Worker& worker, Member& member, const ContentDigest& digest) {
  const bool filling = worker.reference && worker.reference->state == ReferenceState::kFilling &&
                       worker.reference->publication == GroupOf(worker.id.key).open->publication;
  if (!member.already_held && !member.finished && !filling) {
    return FinishFailed(worker, absl::FailedPreconditionError("this rank has not begun to read"));
  }
  if (filling) {
    Reference& reference = *worker.reference;
    // R1: what it read is the version's, or nothing.
    if (digest && reference.shard->digest && digest != reference.shard->digest) {
      return FinishFailed(worker, absl::DataLossError("what it read is not that version"));
    }
    const uint32_t before = reference.valid_chunks;
    reference.valid_chunks = reference.shard->chunks.value_or(before);
    totals_.CountRead(worker, before);
    reference.digest = digest;
    if (digest) SettleDigest(PublicationOf(worker), *reference.shard);
    joiners_due_ = true;
  }
  member.digest = digest;
  graph_.EndRead(worker);
  graph_.DrawNearer(worker);
  member.finished = true;
  worker.record.finished = now_;
  CommitIfWhole({worker.id.key.model, worker.id.key.group});
}

// R6: its last word, so that the others need not wait for another.
void Hub::State::FinishFailed(const Worker& worker, const absl::Status& result) {
  const std::string reason = std::string(result.message()).substr(0, kReasonBytesMax);
  const WorkerKey& key = worker.id.key;
  const absl::Status status =
      absl::AbortedError(absl::StrCat("rank ", key.rank, " of ", key.group, " failed: ", reason));
  const absl::Status own(result.code(), reason);
  const bool outage = IsOutage(result);
  Abort({key.model, key.group}, AsOutage(status, outage), key.rank, AsOutage(own, outage));
}

// The transaction was decided without this rank's word, or in an earlier life of the hub.
void Hub::State::FinishLate(Worker& worker, const FinishReadOp& op) {
  if (IsIn(worker, op.transaction)) graph_.EndRead(worker);
  const std::optional<Outcome>& last = GroupOf(worker.id.key).last;
  calls_.Finish(
      worker, OutcomeOf(worker.id.key, op.transaction),
      last ? FinishReadReply{last->transaction.version, last->identity} : FinishReadReply{});
}

// R6: one event.
void Hub::State::CommitIfWhole(const GroupKey& key) {
  Group& group = groups_.at(key);
  if (!group.open || group.open->members.size() != group.open->world_size) return;
  for (const auto& [rank, member] : group.open->members) {
    if (!member.finished) return;
  }
  const ContentDigest identity = IdentityOf(*this, key.model, *group.open);
  Conclude(key, group, absl::OkStatus());
  group.last->identity = identity;
  const Transaction transaction = group.last->transaction;
  for (const auto& [rank, member] : transaction.members) {
    Worker& worker = *FindWorker({key.model, key.group, rank});
    const bool filled = worker.reference && worker.reference->state == ReferenceState::kFilling;
    if (filled) SetState(worker, ReferenceState::kComplete);
    if (filled) retention_.ReleaseIfUnwanted(worker);
    if (IsPending(worker, OpKind::kFinishRead)) {
      calls_.Finish(worker, absl::OkStatus(), FinishReadReply{transaction.version, identity});
    }
  }
  Publication* publication = FindPublication(key.model, transaction.publication);
  if (publication == nullptr) return;
  const Sharding* sharding = FindSharding(*publication, transaction.sharding.id);
  if (sharding == nullptr) return;
  if (&publication->origin() == sharding) return graph_.RetryAllRedirects(*publication);
  for (const auto& [rank, member] : transaction.members) graph_.RetryRedirects(*sharding, rank);
}

void Hub::State::Abort(const GroupKey& key, const absl::Status& status, std::optional<Rank> failed,
                       const absl::Status& own) {
  Group& group = groups_.at(key);
  if (!group.open) return;
  Conclude(key, group, status);
  const Transaction transaction = group.last->transaction;
  Say(LogLine::Level::kInfo,
      absl::StrCat(key.model, "/", key.group, ": fetch of version ", transaction.version,
                   " aborted: ", std::string(status.message())));
  for (const auto& [rank, member] : transaction.members) {
    Worker* worker = FindLive({{key.model, key.group, rank}, member.incarnation});
    if (worker != nullptr) AbortMember(*worker, transaction, rank == failed ? own : status);
  }
}

// The rank's reference goes at once; its places at the sources only with its FinishRead, when
// nothing is outstanding there any more (R3).
void Hub::State::AbortMember(Worker& worker, const Transaction& transaction,
                             const absl::Status& status) {
  const bool reads = IsIn(worker, transaction.id);
  if (reads) graph_.Stop(worker);
  if (worker.reference && worker.reference->state == ReferenceState::kFilling &&
      worker.reference->publication == transaction.publication) {
    RemoveReference(worker);
  }
  if (!IsPending(worker, OpKind::kFinishRead)) {
    Send(worker, AbortRead{transaction.id, status});
    return;
  }
  if (reads) graph_.EndRead(worker);
  calls_.Finish(worker, status, FinishReadReply{transaction.version});
}

void Hub::State::AbortOf(const Worker& worker, const absl::Status& reason) {
  if (FindOpenMember(worker.id) == nullptr) return;
  const WorkerKey& key = worker.id.key;
  const absl::Status status = absl::AbortedError(
      absl::StrCat("rank ", key.rank, " of ", key.group, ": ", std::string(reason.message())));
  Abort({key.model, key.group}, AsOutage(status, IsOutage(reason)), key.rank, reason);
}

// The worker's buffers mean something else. A rank that has not begun gives them up before it does,
// also without the hub.
void Hub::State::AbortHeldBy(const Worker& worker, const absl::Status& reason) {
  const Member* member = FindOpenMember(worker.id);
  if (member == nullptr) return;
  if (member->begun || member->finished || member->already_held) AbortOf(worker, reason);
}

// The worker will not finish any more.
void Hub::State::AbortUnfinished(const Worker& worker, const absl::Status& reason) {
  const Member* member = FindOpenMember(worker.id);
  if (member != nullptr && !member->finished) AbortOf(worker, reason);
}

// R3, R6: the word of one whose FinishRead was not answered. It has disowned what it read before
// that; one that had not begun, or had nothing to read, says only here that it is out of the fetch.
void Hub::State::LeaveAborted(Worker& reader, const TransactionId& transaction) {
  if (FindMember(reader.id, transaction) != nullptr) {
    AbortUnfinished(reader, absl::AbortedError("it has given the fetch up"));
  }
  if (IsIn(reader, transaction)) graph_.EndAborted(reader);
}

void Hub::State::On(const SourceReleased& event) {
  Worker* reader = FindSession(event.session);
  if (reader != nullptr && event.assignment == kAllAssignments) {
    return LeaveAborted(*reader, event.transaction);
  }
  if (reader == nullptr || !IsIn(*reader, event.transaction)) {
    return Say(LogLine::Level::kDebug, "a release of an assignment that is over");
  }
  graph_.Released(*reader, event.assignment);
}

void Hub::State::Conclude(const GroupKey& key, Group& group, const absl::Status& status) {
  group.last = Outcome{*std::exchange(group.open, std::nullopt), status, {}, {}};
  for (const auto& [rank, member] : group.last->transaction.members) {
    group.last->owed.insert(rank);
    Worker* worker = FindWorker({key.model, key.group, rank});
    const bool same = worker != nullptr && worker->id.incarnation == member.incarnation;
    if (same) totals_.End(worker->record, now_, status);
  }
  changes_.groups.insert(key);
}

// R6: the rank knows the outcome, or will never ask for it.
void Hub::State::Acknowledge(const Worker& worker) {
  const GroupKey key{worker.id.key.model, worker.id.key.group};
  const auto group = groups_.find(key);
  if (group == groups_.end() || !group->second.last) return;
  Outcome& last = *group->second.last;
  const auto member = last.transaction.members.find(worker.id.key.rank);
  if (member == last.transaction.members.end()) return;
  if (member->second.incarnation != worker.id.incarnation) return;
  last.owed.erase(worker.id.key.rank);
  if (last.owed.empty()) changes_.groups.insert(key);
}

// The worker is replaced or forgotten: it takes part in nothing and asks for nothing any more.
void Hub::State::GiveUpFetches(const Worker& worker, const absl::Status& reason) {
  AbortOf(worker, reason);
  Acknowledge(worker);
}

}  // namespace tensorhub::hub
