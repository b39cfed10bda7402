// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The agent core's parts and how they are wired. Implemented in four files: verbs.cc holds the
// client's verbs and what changes the meaning of the buffers, fetch_verb.cc the fetch, integrity.cc
// the digests of what is held, each with the events that are theirs alone; agent_core.cc takes the
// other events apart.

#ifndef TENSORHUB_WORKER_AGENT_CORE_AGENT_STATE_H_
#define TENSORHUB_WORKER_AGENT_CORE_AGENT_STATE_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/random.h"
#include "worker_agent/core/agent_core.h"
#include "worker_agent/core/box_scan.h"
#include "worker_agent/core/chunk_server.h"
#include "worker_agent/core/content_scan.h"
#include "worker_agent/core/digest_query.h"
#include "worker_agent/core/digests.h"
#include "worker_agent/core/hub_calls.h"
#include "worker_agent/core/reader.h"
#include "worker_agent/core/reference.h"
#include "worker_agent/core/skip_plan.h"

namespace tensorhub::agent {

class AgentCore::State {
 public:
  explicit State(const CoreOptions& options)
      : options_(options),
        random_(options.seed),
        reference_(random_),
        server_(options_, reference_, digests_, next_token_) {}

  void On(const Registered& event, TimeMs now, Effects& effects);
  void On(const VerbAsked& event, TimeMs now, Effects& effects);
  void On(const LeaveAsked& event, TimeMs now, Effects& effects);
  void On(const CancelAsked& event, TimeMs now, Effects& effects);
  void On(const Stopping& event, TimeMs now, Effects& effects);
  void On(const SessionUp& event, TimeMs now, Effects& effects);
  void On(const SessionDown& event, TimeMs now, Effects& effects);
  void On(const SessionRefused& event, TimeMs now, Effects& effects);
  void On(const protocol::Assign& event, TimeMs now, Effects& effects);
  void On(const protocol::EndStream& event, TimeMs now, Effects& effects);
  void On(const protocol::SourceSharding& event, TimeMs now, Effects& effects);
  void On(const ReadPlanned& event, TimeMs now, Effects& effects);
  void On(const protocol::AbortRead& event, TimeMs now, Effects& effects);
  void On(const protocol::Probe& event, TimeMs now, Effects& effects);
  void On(const protocol::Dropped& event, TimeMs now, Effects& effects);
  void On(const protocol::HashBoxes& event, TimeMs now, Effects& effects);
  void On(const protocol::Visible& event, TimeMs now, Effects& effects);
  void On(const protocol::Superseded& event, TimeMs now, Effects& effects);
  void On(const protocol::GroupChanged& event, TimeMs now, Effects& effects);
  void On(const protocol::MakeCopy& event, TimeMs now, Effects& effects);
  void On(const protocol::ReleaseCopy& event, TimeMs now, Effects& effects);
  void On(const protocol::CopyFailed& event, TimeMs now, Effects& effects);
  void On(const CallReply& event, TimeMs now, Effects& effects);
  void On(const MessageArrived& event, TimeMs now, Effects& effects);
  void On(const SendDone& event, TimeMs now, Effects& effects);
  void On(const GetDone& event, TimeMs now, Effects& effects);
  void On(const WordArrived& event, TimeMs now, Effects& effects);
  void On(const PeerFailed& event, TimeMs now, Effects& effects);
  void Forget(const PeerFailed& gone, TimeMs now, Effects& effects);
  void On(const TransportReplaced& event, TimeMs now, Effects& effects);
  void On(const PeerHeard& event, TimeMs now, Effects& effects);
  void On(const PathKnown& event, TimeMs now, Effects& effects);
  void On(const MemoryImported& event, TimeMs now, Effects& effects);
  void On(const ChunksHashed& event, TimeMs now, Effects& effects);
  void On(const Tick& event, TimeMs now, Effects& effects);
  // After every event: moves the verb on if what it waited for has come.
  void Settle(TimeMs now, Effects& effects);

  std::optional<TimeMs> NextDeadline() const;
  bool Busy() const;
  absl::Status Health() const;
  std::optional<TermNumber> HeldIn(VersionNumber version) const;
  size_t Readers() const { return server_.open(); }
  StateReport Report() const;
  Phases PhasesNow() const;

 private:
  // Where a verb stands. One at a time; the phases of one verb follow each other in this order.
  enum class Phase {
    kIdle,
    kPublishing,       // Publish called
    kComparing,        // the version exists: these bytes are being hashed (R1)
    kLocating,         // they differ: which chunk does is being asked for
    kAwaitingVisible,  // recorded; waits for the group
    kJoining,          // JoinFetch called
    kUnpublishing,     // Unpublish called (by the verb itself, or first by fetch or leave)
    kDrainingSends,    // generation raised; sends under way must end
    kBeginning,        // BeginRead called
    kReading,
    kQuieting,      // stopped reading; outstanding gets must end
    kFinishing,     // FinishRead called
    kWaitingToAsk,  // every source failed; another JoinFetch in a moment
    kLeaving,       // Leave called
  };

  std::string_view VerbPhase() const;

  void Start(const PublishVerb& verb, TimeMs now, Effects& effects);
  void Start(const UnpublishVerb& verb, TimeMs now, Effects& effects);
  void Start(const FetchVerb& verb, TimeMs now, Effects& effects);
  void Start(const LeaveVerb& verb, TimeMs now, Effects& effects);

  absl::StatusOr<Reference::Content> Published(const CallReply& reply) const;
  absl::Status CheckDecision(const FetchDecision& decision) const;
  void Join(const FetchVerb& verb, TimeMs left_ms, Effects& effects);
  void AskAgain(TimeMs now, Effects& effects);
  void EndOrWait(const absl::Status& failure, TimeMs now, Effects& effects);
  bool HasWhole(const FetchDecision& decision) const;
  protocol::Publish CallOf(const PublishVerb& verb) const;
  void OnPublishReply(const CallReply& reply, TimeMs now, Effects& effects);
  void AskWhoIsMissing(Effects& effects);
  void OnPublishDeadline(Effects& effects);
  // comparing.cc
  bool IsPublishing() const;
  void Compare(const PublishReply& asked, TimeMs now, Effects& effects);
  void PublishCompared(TimeMs now, Effects& effects);
  void Locate(const absl::Status& refusal, TimeMs now);
  void RefuseContent(Effects& effects);
  void ComparedTooLate(Effects& effects);
  void EndComparison(Effects& effects);
  void OnUnpublishReply(const CallReply& reply, TimeMs now, Effects& effects);
  void OnJoinReply(const CallReply& reply, TimeMs now, Effects& effects);
  void OnBeginReply(const CallReply& reply, TimeMs now, Effects& effects);
  void OnFinishReply(const CallReply& reply, TimeMs now, Effects& effects);
  void Dispatch(const CallReply& reply, TimeMs now, Effects& effects);

  void BecomeVisible();
  void Raise(Reference::State state, Effects& effects);
  void BeginUnpublish(const protocol::Unpublish& call, TimeMs now, Effects& effects);
  void RefreshCallDeadline(TimeMs now);
  void RaiseGeneration(bool answered, TimeMs now, Effects& effects);
  void AfterUnpublish(TimeMs now, Effects& effects);
  protocol::BeginRead AnnounceRead();
  void BeginRead(TimeMs now, Effects& effects);
  void OnEarlyAssign(const protocol::Assign& event, Effects& effects);
  static void ReleaseEarly(const protocol::Assign& early, Effects& effects);
  void EndNextRead(Effects& effects);
  void StopReading(const absl::Status& reason, Effects& effects);
  void Finish(TimeMs now, Effects& effects);
  void AbortVerb(const absl::Status& reason, TimeMs now, Effects& effects);
  void EndVerbSoon(TimeMs now, Effects& effects);
  void OnDeadline(TimeMs now, Effects& effects);
  TimeMs InTime(TimeMs deadline) const { return std::min(deadline, over_at_.value_or(deadline)); }
  void OnPhaseDeadline(TimeMs now, Effects& effects);
  void OnVerbDeadline(TimeMs now, Effects& effects);
  absl::Status FetchTookTooLong() const;
  void OnFetchDeadline(TimeMs now, Effects& effects);
  void Free(const absl::Status& reason, Effects& effects);
  void InvalidateAndReport(const absl::Status& reason, Effects& effects);
  void LeaveFetch(const TransactionId& transaction, Effects& effects);
  void GiveUpJoin(Effects& effects);
  void ResendTerminalFacts(Effects& effects) const;
  void Done(const absl::Status& status, Effects& effects);
  void MakeDigests(Effects& effects);
  ContentDigest ContentDigestNow() const;
  void RememberPrefix();
  void EndAttempt(Effects& effects);
  void TellContent(Effects& effects) const;
  void EndDigests(Effects& effects);
  void CheckContent(Effects& effects);
  void ScanOn(Effects& effects);
  void ScanBoxes(Effects& effects);
  void OnScanned(const ChunksHashed& event, Effects& effects);
  std::optional<uint32_t> FirstDifference(const ChunksHashed& event) const;
  void AnswerVerified(Effects& effects);
  void OnDamage(uint32_t chunk, Effects& effects);
  // Runs `step` of the reader, and tells this agent's own readers what it brought.
  void RunReader(absl::FunctionRef<void()> step, TimeMs now, Effects& effects);
  void ReportStreams(protocol::OpenFetch& open) const;
  void Heartbeat(TimeMs now, Effects& effects);
  void OnHello(const PeerMessage& message, TimeMs now, Effects& effects);
  void OnBye(const PeerMessage& message, TimeMs now, Effects& effects);
  std::string Bye(Incarnation peer, bool lives_on) const;
  void CloseIdlePeers(TimeMs now, Effects& effects);
  void CloseFarPeers(TimeMs now, Effects& effects);
  void NoteReadOver(TimeMs now);
  bool IsInUse(Incarnation peer) const;

  CoreOptions options_;  // but for what Registered and TransportReplaced bring, constant
  Random random_;
  Reference reference_;
  Digests digests_;  // of the reference's content
  // Digests of what the buffers had in them before: a version, or the prefix of one that did not
  // come whole and, behind that, what was there before.
  Remembered last_;
  std::optional<ContentScan> scan_;
  std::optional<BoxScan> boxes_;  // that the hub asks for
  bool check_asked_ = false;      // by the hub (R8); the scan under way comes first
  // Why what was held is lost without its owner's doing, until the buffers mean something else.
  std::optional<absl::Status> damage_;
  uint64_t next_token_ = 1;
  PeerTable peers_;
  ChunkServer server_;
  HubCalls calls_;
  std::optional<Registered> registered_;
  // Why no verb that needs the hub goes on: it refused this worker, or the owner leaves.
  std::optional<absl::Status> ended_;
  bool refused_ = false;              // by the hub, for good: nobody is sent here any more
  std::optional<TimeMs> leaving_ms_;  // what a leave that was asked for gives readers and keepers
  bool left_ = false;
  TimeMs heartbeat_ms_ = 1000;
  absl::Status away_because_;  // without a session: why, if it is not the network
  GroupEpoch epoch_;           // the group's, as the hub told it last
  GroupEpoch came_in_;         // as it was told first
  std::optional<TimeMs> heartbeat_at_;
  std::optional<TimeMs> idle_far_at_;  // when the next far one that is idle is given up
  bool hears_content_ = true;          // the hub

  // R8: the outage that the fetch under way waits out; OK: none so far.
  absl::Status outage_;

  // Why the verb that runs is to end before its deadline.
  const std::optional<absl::Status>& cut_short() const { return ended_ ? ended_ : cancelled_; }

  Phase phase_ = Phase::kIdle;
  std::optional<absl::Status> cancelled_;  // the owner took the verb that runs back
  Verb verb_;
  std::optional<TimeMs> verb_deadline_;
  std::optional<TimeMs> phase_deadline_;
  std::optional<TimeMs> over_at_;  // when a fetch has to have ended, whoever answers
  PublicationId last_visible_;
  protocol::Superseded superseded_;  // the last
  // The latest term that this process knew when it came, or of what it has published or read since:
  // what a session that opens later says does not count, since its owner does not know it.
  std::optional<TermNumber> knows_term_;
  struct Held {
    VersionNumber version = 0;
    TermNumber term = 0;
  };
  std::optional<Held> last_held_;  // before what the buffers mean now
  // The last ones; said again whenever a session opens.
  std::optional<Generation> disowned_;
  std::optional<TransactionId> left_fetch_;
  OpId abandoned_join_op_ = 0;
  std::optional<FetchDecision> decision_;
  // What the unpublish of a fetch announces, until the read begins here. Of what was heard of it in
  // a session, nothing counts when that is down: the next report does not tell the hub of it.
  struct NextRead {
    Generation generation = 0;
    bool begun = false;                                     // at the hub
    std::optional<protocol::SourceSharding> sharding = {};  // the last one
    std::vector<protocol::Assign> assigns = {};  // the last one of each stream, of the last plan
  };
  std::optional<NextRead> next_read_;
  PlannedParts planned_;  // of the last read of parts
  std::optional<Reader> reader_;
  // R1: of a publish whose version exists: with what its bytes are compared.
  struct Comparison {
    PublicationId publication;
    Chunking chunking;
    DigestQuery query;
  };
  std::optional<Comparison> comparison_;
  ContentDigest identity_;                    // of what was fetched, as the hub says
  absl::Status result_;                       // what this rank reports with FinishRead
  std::optional<protocol::Dropped> dropped_;  // what it reads, before the outcome is known
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_AGENT_STATE_H_
