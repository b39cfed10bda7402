// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The hub's tables and what may be done to them, by topic; each block is one source file.
//
// Nothing here recurses through the tables: a change that concerns others (a reader lost its
// source, a drain ended, a version became visible) is queued and carried out by
// DrainInternalEvents, at the end of the same event.

#ifndef TENSORHUB_SERVER_CORE_STATE_H_
#define TENSORHUB_SERVER_CORE_STATE_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/random.h"
#include "server/core/absentees.h"
#include "server/core/adoptions.h"
#include "server/core/calls.h"
#include "server/core/catalog.h"
#include "server/core/documents.h"
#include "server/core/groups.h"
#include "server/core/hub.h"
#include "server/core/plans.h"
#include "server/core/read_graph.h"
#include "server/core/retention.h"
#include "server/core/roster.h"
#include "server/core/silence.h"
#include "server/core/tables.h"
#include "server/core/turn.h"
#include "server/core/version_choice.h"
#include "server/core/wait_calls.h"

namespace tensorhub::hub {

class Hub::State : private Turn, private Roster, private Catalog, private Groups {
 public:
  State(const HubOptions& options, TimeMs now);

  void Apply(const Event& event, TimeMs now, Effects& effects);
  std::optional<TimeMs> NextDeadline() const;

  const Documents& documents() const { return documents_; }
  struct Looks;       // looks.h
  struct Invariants;  // invariants.h

 private:
  // hub.cc: the frame of every event.
  void FireTimers();
  void Fire(const Timer& timer);
  void OperationDeadline(Worker& worker);
  void DrainInternalEvents();
  void TakeFromGraph();
  void On(const Tick&) {}
  void On(const CallCancelled& event);
  void NotifyWatchers(Model& model, const std::string& name, ModelChange::Kind kind,
                      VersionNumber version, const std::string& group);

  // durable.cc
  void Restore();
  void RestoreMember(const GroupKey& key, Rank rank, const MemberRow& member, uint32_t world_size);
  void PersistChanges(size_t first);

  // operations.cc: Start returns null when the call was dealt with.
  Worker* Start(const Operation& op, OpKind kind);
  void YieldToNewer(Worker& worker);

  // sessions.cc
  void Renew(SessionId session);
  void On(const Heartbeat& event);
  void On(const SessionOpened& event);
  void On(const SessionClosed& event);
  void On(const LeaveOp& op);
  absl::Status HearReader(SessionOpened& event);
  bool RemembersEarlierLife(const SessionOpened& event) const;
  absl::Status CheckOpening(const SessionOpened& event);
  absl::Status CheckIncarnation(const SessionOpened& event, const Worker& worker);
  absl::Status CheckRoom(const SessionOpened& event);
  void Replace(Worker& worker, const SessionOpened& by);
  void Locate(Worker& worker, const SessionOpened& event);
  void Attach(Worker& worker, const SessionOpened& event);
  void LeaseFired(Worker& worker);
  void NoteStall(Worker& worker, TimeMs stalled_ms);
  void EndWorker(Worker& worker, const absl::Status& reason);
  void CloseStream(Worker& worker, const absl::Status& reason);
  void ForgetOldestDead();

  // recovery.cc: R8
  void BeginRecovery(TimeMs until);
  void EndRecovery();
  bool HaveAllReported();
  void MergeReport(Worker& worker, const SessionOpened& event);
  void OfferReported(Worker& holder);
  void DropUnconfirmed(Worker& worker);
  void TellIfVisible(const Worker& worker, const SessionOpened& event);
  absl::Status ListReported(Worker& worker, const SessionOpened& event);
  absl::Status CheckReported(const Worker& worker, const Holding& holding) const;
  void LearnTerm(const std::string& name, const Holding& holding);
  absl::Status CheckReportedTerm(const Worker& worker, const Holding& holding) const;
  Publication& Recreate(const std::string& model, const Holding& holding);
  const Publication* TakeUp(const Worker& worker, const PublishOp& op, const Publication* wanted);
  void On(const AdoptOp& op);
  struct Adoption;  // adoption.h: whose workers are let in

  // recovered_fetch.cc: R6
  void EndUnreported(Worker& worker, const SessionOpened& event);
  void MergeOpenFetch(Worker& worker, const SessionOpened& event);
  enum class Filling { kDone, kOpen, kOver };
  Filling FillingOf(const Worker& worker, const SessionOpened& event);
  void Reopen(Worker& worker, const OpenFetch& fetch, const Holding* holding);
  void Resume(Worker& worker, const OpenFetch& fetch, Member& member);
  void SettleRecovered(const GroupKey& key, Group& group);

  // publish.cc: R1, R2
  void On(const PublishOp& op);
  void Publish(Worker& worker, const PublishOp& op);
  Publication& Create(const PublishOp& op, const Worker& worker);
  void Hold(Worker& worker, Publication& publication, const PublishOp& op);
  PublishOp TakeDeferred(Worker& worker);
  void AnswerPublish(Worker& worker, const PublishOp& op);
  void PublishDeadline(Worker& worker);
  void CompleteIfWhole(Publication& publication, const std::string& group);
  void CompletePublished(Publication& publication, bool news);
  void BecomeVisible(Publication& publication);
  void TellVisible(Worker& holder, const Publication& publication);

  // content.cc: R1, one content behind a number
  enum class Joining { kMayHold, kCompares, kWaits };
  absl::StatusOr<Joining> CompareContent(const Publication& publication, const Worker& worker,
                                         const PublishOp& op) const;
  void AwaitContent(Worker& worker, const PublishOp& op);
  void SettleJoiners();
  void On(const ContentHashed& event);
  void On(const BoxesHashed& event);
  struct Content;  // content.h: what is held against what
  void LearnDigest(Worker& holder, const ContentDigest& digest);
  void DropOther(Worker& holder);
  void HearDigest(Worker& worker, const Holding& holding);
  void SettleDigest(Publication& publication, Shard& shard);
  void SettleIdentity(Publication& publication);

  // group_epoch.cc: R2, who belongs together
  GroupEpoch NewEpoch() { return {options_.hub_epoch, ++epochs_}; }
  void JoinEpoch(Worker& worker, const SessionOpened& event, bool replaces);
  bool IsFromUnknownEpoch(const GroupKey& group, GroupEpoch told);
  GroupEpoch ReportedEpoch(const SessionOpened& event);
  GroupEpoch JoinedEpoch(const SessionOpened& event);
  void RaiseEpoch(const GroupKey& group, GroupEpoch to, const std::string& why);
  void BeginEpoch(const GroupKey& group, GroupEpoch epoch, const std::string& why);
  void TellEpoch(Worker& worker);
  bool AllWereTold(const GroupKey& group);
  void SettleEpoch(const GroupKey& group);
  void EndUnfinished(Worker& worker, GroupEpoch epoch, const absl::Status& reason);
  void DropPublishing(Worker& worker, const absl::Status& reason);
  GroupEpoch EpochOfPublish(const WorkerKey& key);
  GroupEpoch Known(const WorkerKey& key, GroupEpoch reported);
  bool IsOfEarlierEpoch(const Worker& worker, const Holding& holding);

  // terms.cc: R2, the mark, and the terms in which it falls
  const Publication* Wanted(const Worker& worker, const PublishOp& op) const;
  absl::Status CheckTerm(const Worker& worker, const PublishOp& op,
                         const Publication* publication) const;
  void MoveLatest(const Publication& publication);
  void BeginTerm(const std::string& model, const Term& term, const std::string& by);
  void BeginTermWith(Publication& publication, const std::string& by);
  void EndSuperseded(Publication& publication);
  void TellIfSuperseded(const Worker& worker);
  void SettleCandidates();
  void On(const SupersedeOp& op);
  absl::Status Supersede(const SupersedeOp& op);

  // references.cc: the only place where references appear, change state and go.
  Shard& EnsureShard(Sharding& sharding, Rank rank, const Fingerprint& layout,
                     const Fingerprint& attachment);
  void AddReference(Worker& worker, Publication& publication, Sharding& sharding,
                    Generation generation, ReferenceState state, uint32_t valid_chunks);
  void SetState(Worker& worker, ReferenceState state);
  void CountComplete(Worker& holder);
  void UncountComplete(Worker& holder);
  void RemoveReference(Worker& worker, bool may_return = false);
  void On(const ProbeAnswer& event);
  void DropOlderReferences(Worker& worker, Generation generation);
  void DropReferencesUpTo(Worker& worker, Generation generation);
  void ForgetIfUnheld(const Publication& publication);
  void On(const Progress& event);

  // unpublish.cc: R3, and R7 as far as holders and joiners hear of it
  void On(const UnpublishOp& op);
  void BeginDrain(Worker& worker, TimeMs drain_ms);
  void EndDrain(Worker& worker);
  void AnswerUnpublish(Worker& worker, uint32_t left);
  void Depart(const std::optional<Retention::Departure>& departure);
  void LetGo();
  void On(const CopyFailed& event);
  void NoCopiesBy(const WorkerKey& rank, const std::string& why);
  void NoCopyBy(const WorkerKey& rank, VersionNumber version, const std::string& why);

  // withdrawal.cc: R3, workers that an operator takes out of service
  void On(const DrainOp& op);
  struct Service;  // withdrawal.h

  // conversions.cc: R6: groups that cut the model in another way than its publishers
  absl::StatusOr<Sharding*> ShardingFor(const GroupKey& key, const Group& group,
                                        Publication& publication);
  void On(const PlanMade& event);
  absl::StatusOr<Sharding*> Convert(Publication& publication, const ShardingId& id,
                                    const Group& group);
  void RetryPlans();

  // fetch.cc: R6, until the decision
  void On(const JoinFetchOp& op);
  void LeaveForming(Worker& worker);
  void JoinDeadline(Worker& worker);
  void Resolve(const GroupKey& key, Group& group);
  void GiveUpJoin(Worker& worker, OpId join);
  void Decide(const GroupKey& key, Group& group, const Publication& publication,
              const Sharding& sharding);
  void RefuseForming(const GroupKey& key, Group& group, const absl::Status& status);

  // transaction.cc: R6, from the decision to the outcome
  void On(const BeginReadOp& op);
  absl::Status BeginRead(Worker& worker, const ReadStart& start);
  void StartRead(Worker& worker, Member& member);
  void On(const FinishReadOp& op);
  void FinishOk(Worker& worker, Member& member, const ContentDigest& digest);
  void FinishFailed(const Worker& worker, const absl::Status& result);
  void FinishLate(Worker& worker, const FinishReadOp& op);
  void CommitIfWhole(const GroupKey& key);
  // Everybody gets `status`, except `failed`, which gets `own`.
  void Abort(const GroupKey& key, const absl::Status& status, std::optional<Rank> failed = {},
             const absl::Status& own = absl::OkStatus());
  void AbortMember(Worker& worker, const Transaction& transaction, const absl::Status& status);
  void AbortOf(const Worker& worker, const absl::Status& reason);
  void AbortHeldBy(const Worker& worker, const absl::Status& reason);
  void AbortUnfinished(const Worker& worker, const absl::Status& reason);
  void LeaveAborted(Worker& reader, const TransactionId& transaction);
  void On(const SourceReleased& event);
  void Conclude(const GroupKey& key, Group& group, const absl::Status& status);
  void Acknowledge(const Worker& worker);
  void GiveUpFetches(const Worker& worker, const absl::Status& reason);

  // document_calls.cc
  void On(const PutLayoutOp& op);
  void On(const PutAttachmentOp& op);
  void LearnSizes(const Layout& layout);

  const HubOptions options_;
  const TimeMs started_;
  Random random_;
  Totals totals_;
  uint64_t epochs_ = 0;  // made in this life
  Adoptions adoptions_;

  // The parts. Each is given only those before it.
  Calls calls_;  // of pending operations
  Absentees absentees_;
  Silence silence_;
  VersionChoice choice_;
  WaitCalls waits_;
  Documents documents_;
  Plans plans_;
  ReadGraph graph_;
  Retention retention_;
  std::set<std::pair<TimeMs, WorkerKey>> dead_;

  // What is kept of the tables, by what was said of it in effects.
  DurableState durable_;
  size_t restored_ = 0;  // dead workers that the restored rows name

  // For DrainInternalEvents.
  std::set<Worker*, BySerial> drained_;  // draining references without readers
  std::set<std::string> newly_visible_;  // models with a version that became visible
  std::set<Serial> joiners_;             // that wait to be compared (R1); a superset
  bool joiners_due_ = false;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_STATE_H_
