// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reading one shard: from whichever source the hub assigned, in the way that source offers, into
// the own reference, chunk after chunk in canonical order (R5), so that what is valid is a prefix.
//
// Invariants:
// 1. A chunk commits only after the source confirmed it under the assigned generation (R4), and, if
//    it is checked, after its bytes were hashed, here or on their way here, and the digest is the
//    publisher's.
// 2. A byte has one operation outstanding at most: a new source is turned to only when the old
//    one's gets have all completed (served frames that come late name an old read and are dropped).
// 3. Committed chunks are not read again.
// 4. Where the version's digest is known, no chunk commits before the list of digests was found to
//    be the version's (R1). Where it is not, a chunk is held against the digest that its own source
//    passed on: whatever differs is laid at one door.

#ifndef TENSORHUB_WORKER_AGENT_CORE_READER_H_
#define TENSORHUB_WORKER_AGENT_CORE_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "worker_agent/core/agent_core.h"
#include "worker_agent/core/arrived_digests.h"
#include "worker_agent/core/digests.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/core/reference.h"
#include "worker_agent/core/skip_plan.h"

namespace tensorhub::agent {

// What the reader needs to know of the agent's peers: which are connected, and where to, and whose
// memory has been mapped before.
struct PeerTable {
  struct Peer {
    std::string endpoint;
    TimeMs used_at = 0;    // or opened
    std::string way = {};  // how bytes came from it, as was logged last
  };
  std::map<Incarnation, Peer> open;
  std::set<Incarnation> imported;
};
// Connects, and says where this agent is reached.
void OpenWithHello(const CoreOptions& options, Incarnation peer, const std::string& endpoint,
                   Effects& effects);

class Reader {
 public:
  enum class State { kReading, kComplete, kStopped };

  // All outlive the reader. `reference` is filling and knows its content; `digests` are that one's,
  // `last` is what the buffers held before; `in_outage`: one has ended the last attempt (R8).
  Reader(const CoreOptions& options, const TransactionId& transaction, Reference& reference,
         Digests& digests, const Remembered& last, PeerTable& peers, uint64_t& next_token,
         bool in_outage, TimeMs now);

  void OnAssign(const AssignDirective& assign, TimeMs now, Effects& effects);
  void OnMessage(const PeerMessage& message, std::string_view payload, TimeMs now,
                 Effects& effects);
  void OnLane(const LaneKnown& event, Effects& effects);
  void OnImported(const MemoryImported& event, TimeMs now, Effects& effects);
  void OnGetDone(const GetDone& event, TimeMs now, Effects& effects);
  void OnWord(const WordArrived& event, TimeMs now, Effects& effects);
  void OnHashed(const ChunksHashed& event, TimeMs now, Effects& effects);
  void OnPeerFailed(const PeerFailed& event, TimeMs now, Effects& effects);
  // The connection with this peer is another one: what was said on the last may be lost.
  void OnReconnected(Incarnation peer, TimeMs now, Effects& effects);
  void OnSessionDown();
  void OnSessionUp(Effects& effects);
  void OnTick(TimeMs now, Effects& effects);
  // Ends the reading for good. What is outstanding may still write: see Quiet.
  void Stop(Effects& effects);

  State state() const { return state_; }
  // No operation writes the buffers any more: the verb may end.
  bool Quiet() const { return gets_.empty() && !word_token_; }
  bool Busy() const;
  std::optional<TimeMs> NextDeadline() const;
  uint64_t bytes_read() const { return bytes_read_; }
  // Found in place: neither read nor written.
  uint64_t bytes_skipped() const { return bytes_skipped_; }
  bool used_one_sided() const { return used_one_sided_; }
  const std::string& way() const { return way_; }
  const std::string& sources() const { return sources_; }
  // Something of that peer's may be outstanding, or is about to be.
  bool IsAt(Incarnation peer) const;
  // A read is open there.
  bool ReadsFrom(Incarnation peer) const { return source_ && IsAt(peer); }
  // The present source, for reports; its generation and assignment are in the assignment.
  const std::optional<AssignDirective>& assignment() const { return assigned_; }

 private:
  enum class Way { kOpening, kImporting, kServed, kOneSided };
  enum class Verdict { kGood, kPending, kBad };
  struct Source {
    uint64_t read = 0;
    Way way = Way::kOpening;
    TimeMs heard_at = 0;
    bool heard = false;        // since it was turned to
    bool fresh = false;        // so is the connection
    bool doubted = false;      // as was told to the hub, since it was heard last
    uint32_t known_valid = 0;  // by a word or message under the assigned generation
    uint32_t confirmed = 0;
    uint32_t first = 0;                      // served: the first chunk of this read
    uint32_t credit = 0;                     // served: chunks below it were requested
    uint64_t received = 0;                   // served: next byte expected
    uint64_t whole_bytes = 0;                // served: LaneKnown's; 0: not known yet
    std::string lane;                        // LaneKnown's; empty: not known yet
    uint32_t next_get = 0;                   // one-sided: next chunk to get
    uint32_t got = 0;                        // one-sided: chunks below it have arrived
    std::map<uint32_t, uint32_t> got_early;  // runs that arrived before it: first -> end
    uint32_t word_covers = 0;                // the word under way confirms chunks below it
    bool word_is_asked = false;              // for by a message, not got
    bool checked = false;                    // its chunks are held against their digests
    bool spoke_of_digests = false;
    uint32_t next_hash = 0;                // next chunk to have hashed
    std::map<uint64_t, uint32_t> hashing;  // token -> the first chunk of the run
    ArrivedDigests hashed;
  };

  const Chunking& chunking() const { return reference_.content().chunking; }
  uint32_t WindowChunks() const;
  PeerMessage Header(PeerKind kind) const;
  void Say(const PeerMessage& message, Effects& effects);
  void Begin(TimeMs now, Effects& effects);
  void Heard(TimeMs now);
  void ConnectAnew(TimeMs now, Effects& effects);
  void Open(bool ask_one_sided, Effects& effects);
  void BeginServed(TimeMs now, Effects& effects);
  void StartStream();
  void BeginOneSided(TimeMs now, Effects& effects);
  void WidenIfDry();
  void RaiseCredit(Effects& effects);
  void Request(Effects& effects);
  void OnOpened(const PeerMessage& message, std::string_view payload, TimeMs now, Effects& effects);
  void OnData(const PeerMessage& message, std::string_view payload, TimeMs now, Effects& effects);
  void NoteWay(const std::string& way, Effects& effects);
  void OnStatus(const PeerMessage& message, TimeMs now, Effects& effects);
  uint32_t GettableEnd() const;
  void IssueGets(Effects& effects);
  void ReadWord(Effects& effects);
  void OnAskedWord(const PeerMessage& message, TimeMs now, Effects& effects);
  void Confirmed(uint32_t valid, TimeMs now, Effects& effects);
  void OnDigests(const PeerMessage& message, TimeMs now, Effects& effects);
  uint32_t Arrived() const;
  bool IsHeldAgainstDigest(uint32_t chunk) const;
  // And its digest has not come with it.
  bool WantsHash(uint32_t chunk) const {
    return IsHeldAgainstDigest(chunk) && !source_->hashed.Of(chunk);
  }
  void HashArrived(Effects& effects);
  Verdict Judge(uint32_t chunk) const;
  bool IsProven() const;
  bool MayBelieve() const { return !wanted_ || IsProven(); }
  bool CheckList(Effects& effects);
  void CommitArrived(TimeMs now, Effects& effects);
  void GoOn(TimeMs now, Effects& effects);
  void SkipSame(TimeMs now, Effects& effects);
  // `tally` is raised by their bytes.
  void Commit(uint32_t chunks, uint64_t& tally, TimeMs now, Effects& effects);
  void TellProgress(TimeMs now, Effects& effects);
  void Show(Effects& effects);
  void LeaveSource(bool close_gets, Effects& effects);
  void ForceQuiet(Effects& effects);
  void Fail(const absl::Status& reason, Effects& effects);
  void AfterQuiet(TimeMs now, Effects& effects);

  const CoreOptions& options_;
  const TransactionId transaction_;
  Reference& reference_;
  Digests& digests_;
  PeerTable& peers_;
  uint64_t& next_token_;
  SkipPlan plan_;

  State state_ = State::kReading;
  std::optional<AssignDirective> assigned_;
  ContentDigest wanted_;  // what its digests have to give (R1); none: not known yet
  std::optional<Source> source_;
  // Waits until the last source's gets have completed.
  std::optional<AssignDirective> next_assigned_;
  // To be told once nothing is outstanding at that source any more (and again after a reconnect).
  std::optional<SourceFailedMessage> failure_;
  std::optional<SourceReleasedMessage> release_;
  std::optional<SourceReleasedMessage> released_;  // said last
  bool failure_told_ = false;
  bool in_outage_;  // and nobody has answered since
  struct ChunkRun {
    uint32_t first = 0;
    uint32_t end = 0;
  };
  std::map<uint64_t, ChunkRun> gets_;  // by token
  // When gets at a source that was left are given up.
  std::optional<TimeMs> close_gets_at_;
  std::optional<uint64_t> word_token_;
  uint64_t window_bytes_;
  uint64_t next_read_ = 1;
  TimeMs told_at_ = 0;  // the hub
  TimeMs tell_every_ms_ = 0;
  TimeMs shown_at_ = 0;  // to the fetch's caller
  uint64_t bytes_read_ = 0;
  uint64_t bytes_skipped_ = 0;
  bool used_one_sided_ = false;
  std::string way_;
  std::string sources_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_READER_H_
