// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The hub's tables and what may be done to them, by topic; each block is one source file.
//
// Nothing here recurses through the tables: a change that concerns others (a reader lost its
// source, a drain ended, a version became visible) is queued and carried out by Settle, at the end
// of the same event.

#ifndef TENSORHUB_SERVER_CORE_STATE_H_
#define TENSORHUB_SERVER_CORE_STATE_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"
#include "common/random.h"
#include "server/core/adoptions.h"
#include "server/core/hub.h"
#include "server/core/plans.h"
#include "server/core/source_selection.h"
#include "server/core/tables.h"

namespace tensorhub::hub {

class Hub::State {
 public:
  State(const HubOptions& options, TimeMs now);

  void Apply(const Event& event, TimeMs now, Effects& effects);
  std::optional<TimeMs> NextDeadline() const;

  // views.cc
  std::vector<ModelView> Models(const std::string& after, size_t limit) const;
  bool HasModel(const std::string& model) const { return models_.contains(model); }
  std::vector<VersionView> Versions(const std::string& model) const;
  std::vector<ReferenceView> References(const std::string& model,
                                        std::optional<Version> version) const;
  std::vector<WorkerView> Workers(TimeMs now) const;
  std::vector<TransferView> Transfers(TimeMs now) const;
  StatusView Status() const;
  uint64_t Revision(const std::string& model) const;
  std::shared_ptr<const Layout> FindLayout(const Fingerprint& fingerprint) const;
  std::shared_ptr<const std::string> FindAttachment(const Fingerprint& fingerprint) const;
  struct Looks;  // looks.h

  void CheckInvariants() const;  // invariants.cc

 private:
  // hub.cc: the frame of every event.
  void FireTimers();
  void Fire(const Timer& timer);
  void OperationDeadline(Worker& worker);
  void Settle();
  void On(const Tick&) {}
  void On(const CallCancelled& event);
  void Send(const Worker& worker, decltype(Directive::body) body);
  void Say(LogLine::Level level, std::string text);
  void Change(Model& model, const std::string& name, ModelChange::Kind kind, Version version,
              const std::string& group);
  Worker* FindWorker(const WorkerKey& key);
  const Worker* FindWorker(const WorkerKey& key) const;
  Worker* FindLive(const WorkerIdentity& id);
  Worker* FindSession(SessionId session);
  void Number(Worker& row);  // from then on FindRow finds it
  Worker* FindRow(Serial serial) const;
  // Calls `visit(Worker&)` for each live worker of the group, by rank.
  template <typename Visit>
  void ForEachLive(const GroupKey& group, Visit visit) {
    for (auto it = workers_.lower_bound({group.model, group.group, 0}); it != workers_.end();
         ++it) {
      if (it->first.model != group.model || it->first.group != group.group) return;
      if (it->second.alive) visit(it->second);
    }
  }

  // durable.cc
  void Restore();
  void RestoreMember(const GroupKey& key, Rank rank, const MemberRow& member, uint32_t world_size);
  std::optional<ModelRow> RowOfModel(const std::string& name) const;
  std::optional<GroupRow> RowOfGroup(const GroupKey& key) const;
  std::optional<RetentionRow> RowOfRetention(const std::string& name) const;
  std::optional<WorkerRow> RowOfWorker(const WorkerKey& key) const;
  void RestoreRetention(const std::string& name, const RetentionRow& row);
  void PersistChanges(size_t first);

  // operations.cc: idempotency. Start returns null when the call was dealt with.
  Worker* Start(const Operation& op, OpKind kind);
  bool Repeat(Worker& worker, const Operation& op, OpKind kind);
  void YieldToNewer(Worker& worker);
  void SetDeadline(Worker& worker, TimeMs timeout_ms);
  void ClearDeadline(Worker& worker);
  void Finish(Worker& worker, absl::Status status, decltype(Reply::payload) payload = {});
  // Like Finish, but a repetition of the call is carried out again.
  void FinishOpen(Worker& worker, absl::Status status);
  void TakePublishBack(Worker& worker);
  void Answer(CallId call, absl::Status status, decltype(Reply::payload) payload = {});

  // sessions.cc
  void Renew(SessionId session);
  void On(const SessionOpened& event);
  void On(const SessionClosed& event);
  void On(const LeaveOp& op);
  absl::Status HearReader(SessionOpened& event);
  bool Lacks(const std::optional<Holding>& holding) const;
  bool RemembersEarlierLife(const SessionOpened& event) const;
  absl::Status CheckOpening(const SessionOpened& event);
  absl::Status CheckIncarnation(const SessionOpened& event, const Worker& worker);
  absl::Status CheckRoom(const SessionOpened& event);
  void Replace(Worker& worker, const SessionOpened& by);
  void Locate(Worker& worker, const SessionOpened& event);
  void Attach(Worker& worker, const SessionOpened& event);
  void LeaseFired(Worker& worker);
  // silence.cc: R8: who is silent, a worker or this server
  void HearSomebody();
  void Hear(Worker& worker);
  bool FellSilent(const Worker& worker) const;
  void SetFellSilent(Worker& worker, bool silent);
  bool IsCutOff() const;
  bool IsExcused(Worker& worker);
  void ForgiveSilence(const std::string& why);
  void NoteAway(const WorkerIdentity& worker, const PublicationId& publication);
  void NoteUnaccounted(const WorkerIdentity& worker);
  void ComesBack(const WorkerKey& key);
  void SetAwayTimer();
  void EndAway();
  const WorkerKey* MayReturn(const std::string& model, const PublicationId& publication) const;
  void EndWorker(Worker& worker, const absl::Status& reason);
  void CloseStream(Worker& worker, const absl::Status& reason);
  void ForgetOldestDead();

  // recovery.cc: R8
  void BeginRecovery(TimeMs until);
  void EndRecovery();
  void HearExpected(const SessionOpened& event);
  void ExpectNoMore(const Worker& worker);
  bool HasSaidAll(const WorkerKey& key, const Expected& expected) const;
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
  bool IsOpenFetch(const Worker& worker, const OpenFetch& fetch) const;
  void Reopen(Worker& worker, const OpenFetch& fetch, const Holding* holding);
  void CountAborted(Worker& worker, const OpenFetch& fetch);
  void Resume(Worker& worker, const OpenFetch& fetch, Member& member);
  void LeaveUnreported(Worker& worker, const OpenFetch& fetch);
  void SendUnreported(Worker& worker, const OpenFetch& fetch);
  void SettleRecovered(const GroupKey& key, Group& group);

  // awaited_sources.cc: R3
  void AwaitReported(Worker& worker, const OpenFetch& fetch);
  void ReattachReaders(Worker& source);
  void AwaitSource(Worker& reader, AssignmentNumber number, const WorkerIdentity& source,
                   Generation generation);
  Stream* FedAgain(Worker& reader, AssignmentNumber number, Worker& source, Tier tier);
  void AwaitNoMore(Worker& reader, AssignmentNumber number);

  // publish.cc: R1, R2
  void On(const PublishOp& op);
  void Publish(Worker& worker, const PublishOp& op);
  absl::Status CheckDocuments(const PublishOp& op) const;
  absl::Status CheckSameContent(const Publication& publication, const Worker& worker,
                                const PublishOp& op) const;
  Publication& Create(const PublishOp& op, const Worker& worker);
  void Hold(Worker& worker, Publication& publication, const PublishOp& op);
  PublishOp TakeDeferred(Worker& worker);
  void AnswerPublish(Worker& worker, const PublishOp& op);
  void PublishDeadline(Worker& worker);
  void CompleteIfWhole(Publication& publication, const std::string& group);
  void CompletePublished(Publication& publication, bool news);
  void BecomeVisible(Publication& publication);
  void TellVisible(Worker& holder, const Publication& publication);
  PublishReply PublishReplyOf(const Publication& publication, const Worker& worker) const;

  // content.cc: R1, one content behind a number
  enum class Joining { kMayHold, kCompares, kWaits };
  const Publication* ReadAs(const Worker& worker, const PublishOp& op) const;
  absl::StatusOr<Joining> CompareContent(const Publication& publication, const Worker& worker,
                                         const PublishOp& op) const;
  ComparedWith HolderToAsk(const Publication& publication, const Worker& joiner) const;
  void AwaitContent(Worker& worker, const PublishOp& op);
  void SettleJoiners();
  void On(const ContentHashed& event);
  void LearnDigest(Worker& holder, const ContentDigest& digest);
  void DropOther(Worker& holder);
  void HearDigest(Worker& worker, const Holding& holding);
  void SettleDigest(Publication& publication, Shard& shard);
  void SettleIdentity(Publication& publication);

  // group_epoch.cc: R2, who belongs together
  GroupEpoch NewEpoch() { return {options_.life, ++epochs_}; }
  void JoinEpoch(Worker& worker, const SessionOpened& event, bool replaces);
  bool IsStrange(const GroupKey& group, GroupEpoch told);
  GroupEpoch TellsOf(const SessionOpened& event);
  GroupEpoch CameIn(const SessionOpened& event);
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
  const Publication* FindCandidate(const WorkerKey& key, Version version) const;
  bool IsCandidate(const Publication& publication) const;
  bool IsLatest(const Publication& publication) const;
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
  // What stands for the number.
  const Publication* FindPublication(const std::string& model, Version version) const;
  Publication* FindPublication(const std::string& model, const PublicationId& id);
  const Publication* FindPublication(const std::string& model, const PublicationId& id) const;
  Publication& PublicationOf(const Worker& holder);
  const Publication& PublicationOf(const Worker& holder) const;
  Shard& EnsureShard(Sharding& sharding, Rank rank, const Fingerprint& layout,
                     const Fingerprint& attachment);
  void AddReference(Worker& worker, Publication& publication, Sharding& sharding,
                    Generation generation, ReferenceState state, uint32_t valid_chunks);
  void SetState(Worker& worker, ReferenceState state);
  void CountComplete(Worker& holder);
  void UncountComplete(Worker& holder);
  void RemoveReference(Worker& worker, bool may_return = false);
  void ForgetIfUnheld(const Publication& publication);
  void On(const Progress& event);
  void NoteProgress(Read& read, const Progress& event);

  // unpublish.cc: R3
  void On(const UnpublishOp& op);
  void BeginDrain(Worker& worker, TimeMs drain_ms);
  void RedirectReaders(Worker& source);
  void RetryRedirects(const Sharding& sharding, Rank rank);
  void RetryAllRedirects(const Publication& publication);
  void EndDrain(Worker& worker);
  void AnswerUnpublish(Worker& worker, uint32_t left);
  void On(const DrainOp& op);
  struct Service;  // withdrawal.h

  // retention.cc: R7
  void On(const RetainOp& op);
  void On(const PinOp& op);
  void On(const UnpinOp& op);
  absl::Status Pin(const PinOp& op);
  absl::Status UnknownModel(const std::string& model) const;
  void PutPin(const std::string& model, const std::string& name, const PinnedVersion& pin);
  bool DropPin(const std::string& model, const std::string& name);
  void SetPinTimer();
  void EndPins();
  uint32_t KeepLatest(const Model& model) const;
  std::vector<std::string> KeptBy(const Model& model, const Publication& publication) const;
  bool MayGo(const Worker& leaver) const;
  bool IsKept(const Shard& shard, const Worker& leaver) const;
  bool IsKeptElsewhere(const Publication& publication, const Worker& leaver) const;
  bool HasStable(const std::string& model) const;
  bool AwaitsKeeper(const Worker* leaver) const;
  void AwaitKeeper(Worker& leaver, TimeMs drain_ms);
  bool MayBecomeKept(const Worker& leaver) const;
  void AskAfterRecovery();
  void AnswerWithout(Worker* leaver);
  void SettleLeavers();
  void AwaitOn(Worker& leaver);
  void KeeperDeadline(Worker& leaver);
  std::string WhyNotKept(const Worker& leaver) const;
  void RetentionChanged(const std::string& model);

  // copies.cc: R7, who makes a copy
  std::optional<GroupKey> CopierFor(const Worker& leaver) const;
  bool IsAsked(const GroupKey& copier, const Worker& leaver) const;
  bool MayAsk(const GroupKey& group, const Worker& leaver) const;
  bool CanCopy(const GroupKey& group, const Worker& leaver, bool stable) const;
  void AskForCopies(Worker& leaver);
  std::vector<Worker*> LeaversOf(const GroupKey& copier) const;
  void AskForCopy(const Worker& rank, const Worker& leaver);
  void AskAgain(const Worker& rank);
  void On(const CopyFailed& event);
  void NoCopiesBy(const WorkerKey& rank, const std::string& why);
  void NoCopyBy(const WorkerKey& rank, Version version, const std::string& reason);
  void RefuseCopy(const WorkerKey& of, Version version, const std::string& why);
  bool IsAwaited(const Worker& copy, const Selector& selector) const;
  void ReleaseIfUnwanted(const Worker& copy);

  // choosing.cc: R5, which holder
  bool MayServe(const Worker& source, const Worker& reader) const;
  IndexEntry EntryOf(const Worker& worker) const;
  void Relist(Worker& worker);
  void Refresh(const Worker* except);
  void Refresh(Worker& worker);
  Candidate CandidateOf(const Worker& source, const Worker& reader) const;
  std::optional<Candidate> Choose(const Worker& reader);
  bool LeadsToWhole(const Worker& source) const;
  std::optional<Candidate> ChooseByIndex(const Worker& reader) const;
  std::optional<Candidate> ChooseByLookingAtAll(const Worker& reader) const;
  std::optional<Candidate> ChooseLocal(const Worker& reader, const Shard& shard, bool behind) const;
  std::optional<Candidate> ChooseRemote(const Worker& reader, const Shard& shard,
                                        bool behind) const;
  std::vector<Candidate> ThoseLeft(const Worker& reader, Tier tier,
                                   const SourceClass& wanted) const;
  bool AnyElsewhere(const Site& site, const Worker& reader) const;
  const Worker* FirstOf(const Scope& scope, const Worker& reader, const SourceClass& wanted) const;

  // sources.cc: R3, R5: assignments, from the choice until the reader releases them
  bool AssignSource(Worker& reader);
  void MoveTo(Worker& reader, Worker& source);
  void CallReadersAnew(Worker& source);
  void Feed(Worker& reader, Stream& stream, Worker& source);
  void NoteChoice(Worker& reader, const Stream& stream, const Worker& source);  // explain.cc
  void AttachReader(Worker& reader, Stream& stream, AssignmentNumber number, Worker& source,
                    Tier tier);
  void CountReader(Worker& reader, AssignmentNumber number, Worker& source, Tier tier);
  void StopBeingFed(Worker& reader, Stream& stream);
  void WakeWaiting(const std::set<Worker*, BySerial>& waiting);
  void SendAssign(const Worker& reader, const Stream& stream);
  Assignment EraseAssignment(Worker& reader, AssignmentNumber number);
  void Release(Worker& reader, AssignmentNumber number);
  void ReleaseAll(Worker& reader);
  void SetAbsent(Worker& worker, bool absent);
  void NoteStall(Worker& worker, TimeMs stalled_ms);
  void ReleaseOthers(Worker& reader, const OpenFetch& reported);
  void LeaveReported(Worker& reader, AssignmentNumber number);
  void EndRead(Worker& reader);
  void EndAborted(Worker& reader);
  void LoseSource(const ReaderSlot& slot);
  void Orphaned(Worker& reader);
  void LeaveAborted(Worker& reader, const TransactionId& transaction);
  void On(const SourceReleased& event);
  const Assignment* KnownAssignment(const Worker& reader, const TransactionId& transaction,
                                    AssignmentNumber number) const;

  // conversions.cc: R5, R6: groups that cut the model in another way than its publishers
  absl::StatusOr<Sharding*> ShardingFor(const GroupKey& key, const Group& group,
                                        Publication& publication);
  void On(const PlanMade& event);
  absl::StatusOr<Sharding*> Convert(Publication& publication, const ShardingId& id,
                                    const Group& group);
  bool HaveLayouts(const std::vector<Fingerprint>& layouts);
  void RetryPlans();
  bool LearnParts(Worker& reader);
  bool AssignParts(Worker& reader, Tier farthest);
  bool AssignPartsAnew(Worker& reader);
  void SendParts(Worker& reader);
  Worker* SourceOfPart(const Worker& reader, const Shard& from, Tier farthest) const;
  const Worker* FirstForPart(const Scope& scope, const Worker& reader, bool whole) const;
  void AwaitPart(Worker& reader, Stream& stream);
  std::pair<Rank, const Shard*> ShardLacked(const Worker& reader) const;

  // spread.cc: R5: several sources for one reader
  bool AssignSeveral(Worker& reader);
  void Divide(Worker& reader, size_t streams, bool ranges);
  std::vector<Worker*> SourcesOfRanges(const Worker& reader, size_t wanted);
  void SettleStreams(Worker& reader);
  Worker* AnotherFor(const Worker& reader, const Stream& stream);
  bool FeedElsewhere(Worker& reader, Stream& stream);
  void EndStreamOf(Worker& reader, Stream& stream);
  void SendEnd(const Worker& reader, const Stream& stream);
  void LeaveDraining(Worker& reader, AssignmentNumber assignment);
  void LeaveSilent(Worker& reader, const Worker& source, AssignmentNumber assignment);

  // complaints.cc: R8: readers without a source, and sources that failed
  void SettleOrphan(Worker& reader);
  bool AssignNearest(Worker& reader);
  void GiveUpRead(const Worker& reader);
  void BarSource(Read& read, const WorkerIdentity& source, Bar::State at_first = {}) const;
  bool MustGoFar(Worker& reader);
  bool Pardon(Worker& reader, Tier farthest);
  void ReturnInside(Worker& reader);
  bool HopesForAnswer(const Worker& reader);
  void On(const SourceFailed& event);
  void On(const SourceSilent& event);
  void On(const ProbeAnswer& event);
  void Complain(Worker& source, const WorkerIdentity& reader);
  void Doubt(Worker& source, const Worker& asker, bool verify = false);
  void Ask(Worker& source, const Worker& asker, bool verify);
  TimeMs TimeToVerify(const Worker& source) const;
  void Vouch(Worker& source, bool verified);
  void AskOnceMore(const Worker& source);
  void DisownEarlier(Worker& worker, Generation generation);
  void Disowned(Worker& worker, Generation generation);
  void EndQuestion(Worker& source);
  void Remember(Worker& source);
  void Forget(Worker& source);

  // pace.cc: R5, R8: slow members are bypassed
  TimeMs ReportMs() const;
  TimeMs WindowMs() const;
  bool IsFresh(TimeMs then) const;
  void BeginWindow(Worker& reader);
  void Sample(Worker& reader);
  uint64_t CloseWindow(Worker& reader);
  bool IsStarved(const Worker& reader, uint64_t rate) const;
  bool IsStalled(const Worker& reader) const;
  void LeaveSlowSource(Worker& reader);
  Worker* OtherSource(const Worker& reader);
  void Judge(Worker& reader, uint64_t rate);
  void Convict(Worker& suspect, Worker& reader);
  void CallSlow(Worker& worker, const char* why);
  void Bypass(Worker& reader);
  Worker& SourceOf(const Worker& reader);
  const Worker& SourceOf(const Worker& reader) const;
  void On(const Heartbeat& event);

  // nearer.cc: R5: from far sources to near ones
  void KeepOneSeed(Worker& reader);
  void DrawNearer(Worker& holder);
  void DrawNearer(Worker& reader, const Worker& holder);
  void LeaveCrowd(Worker& reader);

  // long_chains.cc: R5
  void CutChain(Worker& holder);
  bool MayBeCut(const Worker& reader, const Worker& holder) const;

  // fetch.cc: R6, until the decision
  void On(const JoinFetchOp& op);
  void LeaveForming(Worker& worker);
  void JoinDeadline(Worker& worker);
  bool IsFull(const GroupKey& key, const Group& group) const;
  void Resolve(const GroupKey& key, Group& group);
  absl::StatusOr<const Publication*> FindWanted(const std::string& model, const Group& group) const;
  absl::StatusOr<const Publication*> FindLatest(const std::string& name, const Model& model) const;
  absl::StatusOr<const Publication*> FindExact(const std::string& name, const Model& model,
                                               Version version) const;
  absl::Status NoHolder(const std::string& name, Version version,
                        const PublicationId& publication) const;
  absl::Status CheckShards(const Group& group, const Publication& publication,
                           const Sharding& held) const;
  void GiveUpJoin(Worker& worker, OpId join);
  void Decide(const GroupKey& key, Group& group, const Publication& publication,
              const Sharding& sharding);
  void TellDecision(Worker& worker, const Transaction& transaction);
  void RefuseForming(const GroupKey& key, Group& group, const absl::Status& status);
  static std::string Without(uint32_t world_size, absl::FunctionRef<bool(Rank)> holds);

  // transaction.cc: R6, from the decision to the outcome
  Group& GroupOf(const WorkerKey& key) { return groups_[{key.model, key.group}]; }
  Member* FindMember(const WorkerIdentity& worker, const TransactionId& transaction);
  Member* FindOpenMember(const WorkerIdentity& worker);
  absl::Status OutcomeOf(const WorkerKey& worker, const TransactionId& transaction);
  void On(const BeginReadOp& op);
  absl::Status BeginRead(Worker& worker, const ReadStart& start);
  void StartRead(Worker& worker, Member& member);
  void On(const FinishReadOp& op);
  void FinishOk(Worker& worker, Member& member, const ContentDigest& digest);
  ContentDigest IdentityOf(const std::string& model, const Transaction& transaction) const;
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
  void Conclude(const GroupKey& key, Group& group, const absl::Status& status);
  void Acknowledge(const Worker& worker);
  void GiveUpFetches(const Worker& worker, const absl::Status& reason);

  // waits.cc
  void On(const WaitOp& op);
  std::optional<Version> Satisfied(const Wait& wait) const;
  void EndWait(CallId call, absl::Status status, Version version);
  void ForgetWait(CallId call);
  void WakeWaits(const std::string& model);

  // documents.cc
  void On(const PutLayoutOp& op);
  void On(const PutAttachmentOp& op);
  std::set<Fingerprint> FingerprintsInUse() const;
  uint64_t BytesOfMore(const Layout& layout) const;
  void KeepLayout(const std::shared_ptr<const Layout>& layout);
  void DropLayout(const Fingerprint& fingerprint);
  void LearnSizes(Sharding& sharding, const Layout& layout);
  void LearnSizes(const Layout& layout);

  // invariants.cc
  void CheckSettled() const;
  void CheckLayouts() const;
  void CheckAwaited() const;
  void CheckEpoch(const Worker& worker) const;
  void CheckReference(const Worker& worker) const;
  void CheckRead(const Worker& worker) const;
  void CheckPublication(const Publication& publication) const;
  uint32_t CheckSharding(const Publication& publication, const Sharding& sharding) const;
  void CheckModel(const std::string& name, const Model& model) const;
  void CheckStanding(const Model& model, const Publication& publication) const;
  void CheckDigests(const Shard& shard) const;
  void CheckNoCycle(const Worker& worker) const;
  void CheckChoice(const Worker& worker) const;
  void CheckSeeds(const Shard& shard) const;
  void CheckUplinks() const;
  void CheckWaits() const;
  void CheckGroup(const GroupKey& key, const Group& group) const;
  void CheckPins() const;
  void CheckDurable() const;

  const HubOptions options_;
  const TimeMs started_;
  Random random_;
  bool recovering_ = false;
  // While recovering; empty: those of the earlier life are not known, or are there.
  std::map<WorkerKey, Expected> expected_;
  std::map<WorkerKey, Away> away_;
  std::optional<TimeMs> away_timer_;
  bool names_all_ = true;  // false: in a recovery that began without the rows of workers
  Totals totals_;
  uint64_t epochs_ = 0;  // made in this life
  Adoptions adoptions_;

  std::map<WorkerKey, Worker> workers_;
  absl::btree_map<Serial, Worker*> rows_;  // of workers_
  Serial last_serial_ = 0;
  absl::btree_map<SessionId, Worker*> sessions_;
  std::map<GroupKey, Group> groups_;
  std::map<std::string, Model> models_;
  std::map<CallId, Wait> waits_;
  std::map<std::string, std::set<CallId>> waits_by_model_;
  absl::btree_map<CallId, Worker*> calls_;  // pending operations
  std::map<Fingerprint, std::shared_ptr<const Layout>> layouts_;
  std::map<Fingerprint, SharedTable> tables_;  // of layouts_
  Plans plans_;
  bool plans_lack_layouts_ = false;  // somebody waits for a plan whose layouts are not all known
  std::map<Fingerprint, std::shared_ptr<const std::string>> attachments_;
  uint64_t layout_bytes_ = 0;
  uint64_t attachment_bytes_ = 0;
  std::set<std::pair<TimeMs, WorkerKey>> dead_;
  absl::btree_set<Timer> timers_;
  // Time, model and name of the ends of pins; the timer is at the first, and none while recovering.
  std::set<std::tuple<TimeMs, std::string, std::string>> pin_ends_;
  std::optional<TimeMs> pin_timer_;
  size_t alive_ = 0;
  std::map<WorkerIdentity, std::vector<AwaitedReader>> awaited_;  // by source
  std::map<std::string, uint32_t> uplinks_;  // by datacenter, the reads that leave it

  // What is kept of the tables, by what was said of it in effects.
  DurableState durable_;
  std::set<std::string> changed_models_;  // since the event began; a superset
  std::set<GroupKey> changed_groups_;
  std::set<std::string> changed_retention_;
  std::set<WorkerKey> changed_workers_;
  size_t restored_ = 0;  // dead workers that the restored rows name

  // For Settle.
  std::set<Orphan> orphans_;             // readers without a source
  std::set<Worker*, BySerial> drained_;  // draining references without readers
  std::vector<Worker*> stale_;           // rows that their shards' indices may have wrong
  std::set<Serial> free_;                // whole holders that got a free place; a superset
  std::set<std::string> news_;           // models with a version that became visible
  std::set<Serial> leavers_;             // that wait for a keeper of what they hold
  std::set<Serial> joiners_;             // that wait to be compared (R1); a superset
  bool joiners_due_ = false;
  bool retention_changed_ = false;

  TimeMs heard_ = 0;     // R8: when any worker was heard last
  int fell_silent_ = 0;  // workers of whom that is true
  bool cut_off_said_ = false;

  // The time of the event in progress.
  TimeMs now_ = 0;
  Effects* out_ = nullptr;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_STATE_H_
