// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One part of a transfer, read from one source at a time: from whichever source the hub assigned,
// in the way that source offers, or, where several feed the read, by ranges. A stream knows what
// has arrived and what of that is sound. The reader commits it, and then lets the stream ask for
// more.
//
// Invariants:
// 1. A chunk is sound only after the source confirmed it under the assigned generation (R4), and,
//    if it is checked, after its bytes were hashed, here or on their way here, and the digest is
//    the publisher's.
// 2. A byte has one operation outstanding at most: a new source is turned to only when the old
//    one's gets have all completed (served frames that come late name an old read and are dropped).
// 3. Where the version's digest is not known, a chunk is held against the digest that its own
//    source passed on: whatever differs is laid at one door.

#ifndef TENSORHUB_WORKER_AGENT_CORE_STREAM_H_
#define TENSORHUB_WORKER_AGENT_CORE_STREAM_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/read_stream.h"
#include "worker_agent/core/arrived_digests.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/pace.h"
#include "worker_agent/core/peer_table.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/core/transfer.h"
#include "worker_agent/core/wanted_ranges.h"

namespace tensorhub::agent {

class Stream {
 public:
  // Both outlive the stream.
  Stream(Transfer& transfer, PeerTable& peers) : transfer_(transfer), peers_(peers) {}

  void OnAssign(const protocol::Assign& assign, TimeMs now, Effects& effects);
  // The hub ends the stream that was assigned so; others bring the rest.
  void OnEnd(AssignmentNumber assignment, TimeMs now, Effects& effects);
  // Messages of a read that is over, or of another stream's, are ignored.
  void OnMessage(const PeerMessage& message, std::string_view payload, TimeMs now,
                 Effects& effects);
  void OnPeerHeard(const PeerHeard& event, TimeMs now);
  void OnLane(const PathKnown& event, Effects& effects);
  void OnImported(const MemoryImported& event, Effects& effects);
  void OnGetDone(const GetDone& event, TimeMs now, Effects& effects);
  void OnWord(const WordArrived& event, TimeMs now, Effects& effects);
  void OnHashed(const ChunksHashed& event);
  void OnPeerFailed(const PeerFailed& event, TimeMs now, Effects& effects);
  // The connection with this peer is another one: what was said on the last may be lost.
  void OnReconnected(Incarnation peer, TimeMs now, Effects& effects);
  void OnSessionDown();
  void OnSessionUp(Effects& effects);
  void OnTick(TimeMs now, Effects& effects);

  // Since the last call something has come by which more may be committed or asked for.
  bool TakeMoved() { return std::exchange(moved_, false); }
  // Has what arrived hashed, if it is checked.
  void HashArrived(Effects& effects);
  // Where one source feeds the read: chunks below it are sound.
  uint32_t SoundEnd();
  // Where several do: the first byte of the reader's that is this stream's to bring and not sound.
  uint64_t LowWater();
  // The source goes, if what it sent is not what was published.
  void FailIfBad(Effects& effects);
  // What all of them brought is not what it should be.
  void FailAsOneOf(const absl::Status& reason, Effects& effects) {
    if (source_) Fail(reason, effects);
  }
  // Bytes come, or would if they were asked for.
  bool IsReading() const {
    return source_ && source_->phase != Phase::kOpening && source_->phase != Phase::kImporting;
  }
  void AskForMore(Effects& effects);
  // The first chunks that were not valid are, without having been read.
  void OnSkipped(Effects& effects);
  // There is nothing more to read.
  void End(Effects& effects);
  // The read is divided otherwise from now on: another stream goes on with it, once this is quiet.
  void Leave(TimeMs now, Effects& effects);
  // Ends the reading for good. What is outstanding may still write: see NoOutstandingGets.
  void Stop(Effects& effects);

  // No operation writes the buffers any more.
  bool NoOutstandingGets() const { return gets_.empty() && !word_token_; }
  bool Busy() const;
  std::optional<TimeMs> NextDeadline() const;
  // Something of that peer's may be outstanding, or is about to be.
  bool IsAt(Incarnation peer) const;
  // A read is open somewhere.
  bool IsOpen() const { return source_.has_value(); }
  // The open read's way, as PathKnown says; empty: there is none, or it is not known yet.
  const std::string& lane() const;
  std::string_view phase() const;  // in words
  // The present source, or the last; its generation and assignment are in the assignment.
  const std::optional<protocol::Assign>& assignment() const { return assigned_; }

 private:
  enum class Phase { kOpening, kImporting, kServed, kOneSided, kRanges };
  // A read of ranges, in its positions. sound <= received, next_hash <= received.
  struct Ranges {
    ReadStream wanted;
    bool by_gets = false;  // got by this side; else the source sends them
    uint64_t next_get = 0;
    uint64_t received = 0;
    uint64_t available = 0;  // as the source says
    uint64_t proven = 0;     // likewise
    uint64_t next_hash = 0;
    uint64_t sound = 0;
    std::deque<uint64_t> ends;  // of the ranges that have not come whole
  };
  struct Source {
    uint64_t read = 0;
    Phase phase = Phase::kOpening;
    TimeMs heard_at = 0;
    bool heard = false;        // since it was turned to
    bool fresh = false;        // so is the connection
    bool doubted = false;      // as was told to the hub, since it was heard last
    uint32_t known_valid = 0;  // by a word or message under the assigned generation
    uint32_t confirmed = 0;
    uint32_t first = 0;                      // served: the first chunk of this read
    uint32_t credit = 0;                     // served: chunks below it were requested
    uint64_t received = 0;                   // served: next byte expected
    uint64_t unfragmented_bytes = 0;         // served: PathKnown's; 0: not known yet
    std::string lane;                        // PathKnown's; empty: not known yet
    uint32_t next_get = 0;                   // one-sided: next chunk to get
    uint32_t got = 0;                        // one-sided: chunks below it have arrived
    std::map<uint64_t, uint64_t> got_early;  // gets that ended before it: first -> end
    uint64_t word_covers = 0;                // the word under way confirms what lies below it
    bool word_by_message = false;            // for by a message, not got
    bool checked = false;                    // its chunks are held against their digests
    bool spoke_of_digests = false;
    uint32_t list = 0;                     // Transfer::lists, as it was opened
    uint32_t next_hash = 0;                // next chunk to have hashed
    std::map<uint64_t, uint32_t> hashing;  // token -> the first chunk of the run
    ArrivedDigests hashed;
    std::optional<uint32_t> bad;  // confirmed, and its digest is another one
    Ranges ranges;
  };
  // What a get brings: chunks, or positions of a read of ranges.
  struct GetSpan {
    uint64_t first = 0;
    uint64_t end = 0;
  };

  const CoreOptions& options() const { return transfer_.options(); }
  const Chunking& chunking() const { return transfer_.chunking(); }
  PeerMessage Header(PeerKind kind) const;
  void Say(const PeerMessage& message, Effects& effects) const;
  // stream.cc: from source to source
  void OnGetsDrained(TimeMs now, Effects& effects);
  void Begin(TimeMs now, Effects& effects);
  bool MayAskOneSided() const;
  void Open(bool ask_one_sided, Effects& effects);
  void OnRefused(const PeerMessage& message, Effects& effects);
  void OnOpened(const PeerMessage& message, std::string_view payload, Effects& effects);
  void OnStatus(const PeerMessage& message);
  void LeaveSource(bool close_gets, Effects& effects);
  void ForceQuiet(Effects& effects);
  void Fail(const absl::Status& reason, Effects& effects);
  void LeaveNext(AssignmentNumber assignment, Effects& effects);
  void BeginByMessages();
  // stream_silence.cc
  void NoteLife(TimeMs now);
  void Heard(TimeMs now);
  bool IsFar() const;
  TimeMs LongestGap() const;
  TimeMs Doubled(TimeMs wait) const;
  TimeMs AnewMs() const;
  TimeMs SilenceMs() const;
  bool WouldConnectAnew() const;
  bool MayBeSick() const;
  TimeMs SickMs() const;
  void LeavePath(std::string_view brings, Effects& effects);
  void ConnectAnew(TimeMs now, Effects& effects);
  // stream_served.cc
  void BeginServed();
  void StartServed();
  void WidenIfDry();
  void RaiseCredit(Effects& effects);
  void Request(Effects& effects);
  void NoteWay(const std::string& way, Effects& effects);
  void OnData(const PeerMessage& message, std::string_view payload, Effects& effects);
  // stream_one_sided.cc
  void BeginOneSided();
  void NoteGot(const GetSpan& got);
  uint64_t Got() const;
  uint64_t ConfirmedSoFar() const;
  uint32_t GettableEnd() const;
  void IssueGets(Effects& effects);
  void ReadWord(Effects& effects);
  void OnAskedWord(const PeerMessage& message);
  void Confirmed(uint32_t valid);
  // stream_ranges.cc
  void BeginRanges(bool by_gets);
  void OpenAnew(Effects& effects);
  void WantMore(Effects& effects);
  uint64_t Outstanding() const;
  uint64_t Horizon() const;
  bool WidenIfIdle();
  void SayWanted(const std::vector<WantedRange>& ranges, Effects& effects);
  void IssueGetsOfRanges(Effects& effects);
  uint64_t GettablePosition() const;
  void OnPart(const PeerMessage& message, std::string_view payload, Effects& effects);
  void Received(uint64_t end);
  void OnStand(const PeerMessage& message);
  std::optional<uint32_t> ChunkAt(uint64_t position, uint64_t end) const;
  void HashRanges(Effects& effects);
  void JudgeRanges();
  void GiveBack();
  // stream_checks.cc
  void OnDigests(const PeerMessage& message, Effects& effects);
  bool Continues(const PeerMessage& message, const std::vector<uint64_t>& digests) const;
  uint32_t HashedAtOnce() const;
  void StartHashing(uint32_t first, uint32_t count, bool beside, Effects& effects);
  bool CheckList(Effects& effects);
  uint32_t Arrived() const;
  bool WantsHash(uint32_t chunk) const;

  Transfer& transfer_;
  PeerTable& peers_;
  std::optional<protocol::Assign> assigned_;
  std::optional<Source> source_;
  // Waits until the last source's gets have completed.
  std::optional<protocol::Assign> next_assigned_;
  // To be told once nothing is outstanding at that source any more (and again after a reconnect).
  std::optional<protocol::SourceFailed> failure_;
  std::optional<protocol::SourceReleased> release_;
  std::optional<protocol::SourceReleased> released_;  // said last
  bool failure_told_ = false;
  bool moved_ = false;
  std::map<uint64_t, GetSpan> gets_;  // by token
  // When gets at a source that was left are given up.
  std::optional<TimeMs> close_gets_at_;
  Pace pace_;
  int anew_ = 0;  // connections that were made anew under this assignment
  std::optional<uint64_t> word_token_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_STREAM_H_
