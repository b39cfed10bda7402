// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R3, R5, R8: who reads from whom. Which source a reader is given, from the choice until the reader
// releases it; how fast it reads there, and what becomes of it when there is a better source, or
// the one that it has is slow, silent, damaged, draining or gone.
//
// Words of workers and changes of references come in as calls. What is wanted of workers goes out
// as effects of the turn. What the graph cannot decide alone it hands back: readers that nobody can
// feed (TakeStranded), sources that nobody reads from any more (TakeDrained), and that it has begun
// or ceased to count on somebody (TakeAbsenceChanged).
//
// It alone writes, of the tables' rows: Worker::read, node, listed, stale, slow, absent, question,
// complainers and forget_at; Reference::readers and absent_readers; Shard::index, waiting, fastest
// and cut; Publication::awaiting. (Read::apart is the operator's, by withdrawal.cc.)
//
// Invariants, held by CheckInvariants: each assignment is counted at its source, at its uplink and
// in the forest; nobody reads from itself, through any number of others; the index says of every
// holder what is so, and finds the best of all; a datacenter has one seed per shard, unless one of
// several has an excuse.
//
// Nothing here recurses through the tables: a reader that loses its source is queued, and given
// another one by AssignOrAbort, at the end of the same event.

#ifndef TENSORHUB_SERVER_CORE_READ_GRAPH_H_
#define TENSORHUB_SERVER_CORE_READ_GRAPH_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/core/hub.h"
#include "server/core/plans.h"
#include "server/core/roster.h"
#include "server/core/source_selection.h"
#include "server/core/tables.h"
#include "server/core/turn.h"

namespace tensorhub::hub {

class ReadGraph {
 public:
  // A reader without a source, for whom nobody is left to hope for: its fetch is over.
  struct Stranded {
    Worker* reader = nullptr;
    absl::Status why;
    bool alone = false;  // its own sources failed; others of its group may be fed
  };

  // All of them live longer than the graph.
  ReadGraph(const HubOptions& options, Turn& turn, Roster& roster, Plans& plans)
      : options_(options),
        policy_(options.readers_per_source),
        turn_(turn),
        roster_(roster),
        plans_(plans) {}
  ReadGraph(const ReadGraph&) = delete;
  ReadGraph& operator=(const ReadGraph&) = delete;

  // --- what it hands back, each once -------------------------------------------------------------

  std::optional<Stranded> TakeStranded();
  std::set<Worker*, BySerial> TakeDrained();  // of kDraining
  bool TakeAbsenceChanged();

  // --- the end of each event ---------------------------------------------------------------------

  // Has the indices follow the rows, except for the reader that AssignOrAbort takes next.
  void FlushIndex();
  bool HasOrphans() const { return !orphans_.empty(); }
  // Gives the first of them a source. Requires: HasOrphans().
  void AssignOrAbort();
  bool MayCut() const { return !free_.empty() && !turn_.recovering(); }
  // Cuts a long chain for one of the sources that got a free place. Requires: MayCut().
  void CutChain();

  // --- references (references.cc) ----------------------------------------------------------------

  // `holder` has a reference from now on, and has none any more (called while it still has it).
  void List(Worker& holder);
  void Unlist(Worker& holder);
  // To be called whenever something changed that EntryOf looks at. The index follows when it is
  // asked.
  void MarkIndexStale(Worker& worker);
  // The holder is complete, or got further.
  void DrawNearer(Worker& holder);
  // Readers that may be at this reference, as they said, or as was known before it was lost.
  void ReattachReaders(Worker& source);
  // Readers that may be at a reference of that process which is not listed. Null: there are none.
  const std::vector<AwaitedReader>* AwaitedReaders(const WorkerIdentity& source) const;
  // Somebody can serve this shard, or one of this publication, who could not before.
  void RetryRedirects(const Sharding& sharding, Rank rank);
  void RetryAllRedirects(const Publication& publication);
  void WakeWaiting(const std::set<Worker*, BySerial>& waiting);
  // Leads the readers of one that drains away, as far as there are others.
  void RedirectReaders(Worker& source);

  // --- fetches (transaction.cc, recovered_fetch.cc) ----------------------------------------------

  // The worker reads for its group's fetch from now on. An earlier read ends.
  void Begin(Worker& worker, const Transaction& transaction);
  // Wants a source. (Said again, it does no harm.)
  void QueueForAssignment(Worker& reader);
  // The fetch is over, and something may be outstanding at the sources.
  void Stop(Worker& reader);
  // No operation of it is outstanding anywhere.
  void EndRead(Worker& reader);
  void EndAborted(Worker& reader);
  // R8: what a reader reports of its read: as begun in an earlier life of the hub; as aborted, of
  // which it has not heard; and as what this hub knows already.
  void Restore(Worker& reader, const OpenFetch& fetch);
  void RestoreAborted(Worker& reader, const OpenFetch& fetch);
  void Compare(Worker& reader, const OpenFetch& fetch);
  // R8: the grace is over.
  void EndGrace(Worker& worker);

  // --- words of workers --------------------------------------------------------------------------

  void NoteProgress(Worker& reader, const std::string& way);
  void GotFurther(Worker& reader);
  void Sample(Worker& reader);
  void On(const SourceFailed& event);
  void On(const SourceSilent& event);
  // An assignment, of a read of that reader's.
  void Released(Worker& reader, AssignmentNumber number);
  // Perhaps dead, or not: by others' word, or its own.
  void SetAbsent(Worker& worker, bool absent);
  // The source says that it holds what it is listed with.
  void ConfirmHolder(Worker& source, bool verified);
  void AskOnceMore(const Worker& source);
  void EndQuestion(Worker& source);
  void Forget(Worker& source);
  void CallReadersAnew(Worker& source);

  // --- for people, and for tests -----------------------------------------------------------------

  uint64_t decisions() const { return decisions_; }  // sources that readers were given
  // One worker's part, or what is the whole graph's. To be called between events.
  void CheckInvariants(const Worker& worker) const;
  void CheckInvariants() const;
  void CheckSeeds(const Shard& shard) const;

 private:
  // source_search.cc: R5, which holder
  bool MayServe(const Worker& source, const Worker& reader) const;
  // All of the reader's shard, and not parts for a shard that is cut in another way.
  bool MayServeWhole(const Worker& source, const Worker& reader) const;
  IndexEntry EntryOf(const Worker& worker) const;
  void FlushIndex(const Worker* except);
  void FlushIndex(Worker& worker);
  Candidate CandidateOf(const Worker& source, const Worker& reader) const;
  std::optional<Candidate> Choose(const Worker& reader);
  bool LeadsToWhole(const Worker& source) const;
  std::optional<Candidate> ChooseByIndex(const Worker& reader) const;
  std::optional<Candidate> ChooseByLookingAtAll(const Worker& reader) const;
  void AddLocal(const Worker& reader, const Shard& shard, const SourceClass& wanted,
                std::vector<Candidate>& found) const;
  void AddRemote(const Worker& reader, const Shard& shard, const SourceClass& wanted,
                 std::vector<Candidate>& found) const;
  std::vector<Candidate> ThoseLeft(const Worker& reader, const SourceClass& wanted) const;
  bool AnyElsewhere(const Site& site, const Worker& reader) const;
  const Worker* FirstIn(const Scope& scope, const Worker& reader, const SourceClass& wanted) const;

  // sources.cc: R3, R5: assignments, from the choice until the reader releases them
  bool AssignSource(Worker& reader);
  void MoveTo(Worker& reader, Worker& source);
  void Feed(Worker& reader, Stream& stream, Worker& source);
  void AttachReader(Worker& reader, Stream& stream, AssignmentNumber number, Worker& source,
                    Tier tier);
  void CountReader(Worker& reader, AssignmentNumber number, Worker& source, Tier tier);
  void StopBeingFed(Worker& reader, Stream& stream);
  void SendAssign(const Worker& reader, const Stream& stream);
  Assignment EraseAssignment(Worker& reader, AssignmentNumber number);
  void Release(Worker& reader, AssignmentNumber number);
  void ReleaseAll(Worker& reader);
  void ReleaseOthers(Worker& reader, const OpenFetch& reported);
  void LeaveReported(Worker& reader, AssignmentNumber number);
  void LoseSource(const ReaderSlot& slot);
  const Assignment* KnownAssignment(const Worker& reader, const TransactionId& transaction,
                                    AssignmentNumber number) const;

  // parts.cc: R5: from holders of other shards
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

  // source_failures.cc: R8: readers without a source, and sources that failed
  bool AssignNearest(Worker& reader);
  void GiveUpRead(Worker& reader);
  void Exclude(Worker& reader, const WorkerIdentity& source, bool refused = false) const;
  bool MustGoFar(Worker& reader);
  bool ReadmitOnce(Worker& reader, Tier farthest);
  void ReturnInside(Worker& reader);
  bool HopesForAnswer(const Worker& reader);
  void RecordFailureReport(Worker& source, const WorkerIdentity& reader);
  void Suspect(Worker& source, const Worker& asker, bool verify = false);
  void Ask(Worker& source, const Worker& asker, bool verify);
  TimeMs TimeToVerify(const Worker& source) const;
  void Remember(Worker& source);

  // throughput.cc: R5, R8: slow members are bypassed
  TimeMs ReportMs() const;
  TimeMs WindowMs() const;
  bool IsFresh(TimeMs then) const;
  void BeginWindow(Worker& reader);
  uint64_t CloseWindow(Worker& reader);
  bool IsStarved(const Worker& reader, uint64_t rate) const;
  bool IsStalled(const Worker& reader) const;
  void LeaveSlowSource(Worker& reader);
  Worker* OtherSource(const Worker& reader);
  void EvaluateProbation(Worker& reader, uint64_t rate);
  void MarkSlow(Worker& suspect, Worker& reader);
  void CallSlow(Worker& worker, const char* why);
  void Bypass(Worker& reader);

  // rebalance.cc: R5: from far sources to near ones
  void KeepOneSeed(Worker& reader);
  void DrawNearer(Worker& reader, const Worker& holder);
  void LeaveCrowd(Worker& reader);

  // long_chains.cc: R5
  void CutChain(Worker& holder);
  bool MayBeCut(const Worker& reader, const Worker& holder) const;

  // unlisted_sources.cc: R3
  void LeaveUnreported(Worker& worker, const OpenFetch& fetch);
  void SendUnreported(Worker& worker, const OpenFetch& fetch);
  void AwaitReported(Worker& worker, const OpenFetch& fetch);
  void AwaitSource(Worker& reader, AssignmentNumber number, const WorkerIdentity& source,
                   Generation generation);
  Stream* FedAgain(Worker& reader, AssignmentNumber number, Worker& source, Tier tier);
  void AwaitNoMore(Worker& reader, AssignmentNumber number);

  // explain.cc: for people
  void NoteChoice(Worker& reader, const Stream& stream, const Worker& source);
  std::optional<Candidate> SecondTo(const Worker& reader, const Shard& shard,
                                    const Worker& source) const;

  // read_graph_invariants.cc
  void CheckRead(const Worker& worker) const;
  void CheckNoCycle(const Worker& worker) const;
  void CheckChoice(const Worker& worker) const;
  void CheckAwaited() const;
  void CheckUplinks() const;

  const HubOptions& options_;
  const SourcePolicy policy_;
  Turn& turn_;
  Roster& roster_;
  Plans& plans_;

  std::map<WorkerIdentity, std::vector<AwaitedReader>> awaited_;  // by source
  std::map<std::string, uint32_t> uplinks_;  // by datacenter, the reads that leave it
  uint64_t decisions_ = 0;

  // For the end of the event.
  std::set<Orphan> orphans_;          // readers without a source
  std::vector<Worker*> index_stale_;  // rows that their shards' indices may have wrong
  std::set<Serial> free_;             // whole holders that got a free place; a superset

  std::deque<Stranded> stranded_;
  std::set<Worker*, BySerial> drained_;
  bool absence_changed_ = false;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_READ_GRAPH_H_
