// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reading one shard: what streams (stream.h) bring is committed into the own reference, chunk after
// chunk in canonical order (R5), so that what is valid is a prefix. Then they ask for more.
//
// By the hub's plan one stream brings everything, or several bring ranges (division.h): of the
// reader's own shard, or parts of other shards, for which it has to be planned first which bytes
// those are. A read that gets another plan goes on at its prefix.
//
// Invariants:
// 1. A chunk commits only when it is sound, as the stream that brought it says.
// 2. A verb that reads ends only when no stream has an operation outstanding.
// 3. The streams of a plan begin when those of the plan before are quiet (R5: a byte has one
//    operation outstanding at most).

#ifndef TENSORHUB_WORKER_AGENT_CORE_READER_H_
#define TENSORHUB_WORKER_AGENT_CORE_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker_agent/core/agent_core.h"
#include "worker_agent/core/digests.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/own_digests.h"
#include "worker_agent/core/peer_table.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/core/reference.h"
#include "worker_agent/core/skip_plan.h"
#include "worker_agent/core/stream.h"
#include "worker_agent/core/transfer.h"

namespace tensorhub::agent {

// Which bytes the parts of another sharding bring; the same for each version that is cut so.
struct PlannedParts {
  uint32_t world_size = 0;
  std::vector<protocol::SourceSharding::Part> of;
  ReadParts parts;  // null: none yet

  bool IsOf(const protocol::SourceSharding& sharding) const {
    return parts != nullptr && world_size == sharding.world_size && of == sharding.parts;
  }
};

class Reader {
 public:
  enum class State { kReading, kComplete, kStopped };

  // As Transfer's; `peers` and `planned` outlive the reader, too.
  Reader(const CoreOptions& options, const TransactionId& transaction, Reference& reference,
         Digests& digests, const Remembered& last, PeerTable& peers, PlannedParts& planned,
         uint64_t& next_token, bool in_outage, TimeMs now);
  // A reader's streams know where its transfer is.
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void OnAssign(const protocol::Assign& assign, TimeMs now, Effects& effects);
  void OnEndStream(const protocol::EndStream& event, TimeMs now, Effects& effects);
  void OnSourceSharding(const protocol::SourceSharding& event, TimeMs now, Effects& effects);
  // Not OK: the read cannot go on.
  absl::Status OnPlanned(const ReadPlanned& event, TimeMs now, Effects& effects);
  void OnMessage(const PeerMessage& message, std::string_view payload, TimeMs now,
                 Effects& effects);
  void OnPeerHeard(const PeerHeard& event, TimeMs now);
  void OnLane(const PathKnown& event, Effects& effects);
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
  // Ends the reading for good. What is outstanding may still write: see NoOutstandingGets.
  void Stop(Effects& effects);

  State state() const { return state_; }
  // No operation writes the buffers any more: the verb may end.
  bool NoOutstandingGets() const;
  bool Busy() const;
  std::optional<TimeMs> NextDeadline() const;
  // The tallies of the read, and what is told of it.
  const Transfer& transfer() const { return transfer_; }
  // Something of that peer's may be outstanding, or is about to be.
  bool IsAt(Incarnation peer) const;
  // A read is open there.
  bool ReadsFrom(Incarnation peer) const;
  // For reports: by which plan it reads, and where. The source of the whole shard, or the last;
  // where several feed the read, those where something may be outstanding, by part.
  uint32_t plan() const { return plan_.number; }
  bool ranges() const { return plan_.ranges; }
  std::vector<protocol::Assign> Assignments() const;
  std::vector<std::string_view> phases() const;  // of its streams, by part

 private:
  struct Plan {
    uint32_t number = 0;
    bool ranges = false;                              // several sources feed the read
    bool parts = false;                               // of another sharding
    std::optional<protocol::SourceSharding> of = {};  // which one, as it was said before
    bool operator==(const Plan&) const = default;
  };
  using Streams = std::map<uint32_t, std::unique_ptr<Stream>>;  // by part

  void TurnTo(const protocol::Assign& assign, TimeMs now, Effects& effects);
  void LeavePlan(const Plan& next, TimeMs now, Effects& effects);
  void BeginPlan(TimeMs now, Effects& effects);
  void Divide();
  bool MayBegin() const;
  void AskForPlan(Effects& effects);
  void Advance(TimeMs now, Effects& effects);
  void Proceed(TimeMs now, Effects& effects);
  void CommitArrived(TimeMs now, Effects& effects);
  void SkipSame(TimeMs now, Effects& effects);
  void AfterCommit(TimeMs now, Effects& effects);
  uint32_t SoundEnd();
  bool IsAsKnown(uint32_t end, Effects& effects);
  const Stream* Reading() const;

  PeerTable& peers_;
  PlannedParts& planned_;
  uint64_t& next_token_;
  Transfer transfer_;
  OwnDigests own_digests_;
  Plan plan_;
  Streams streams_;
  // Begins when the streams there are, which have left, are quiet.
  std::optional<Plan> next_plan_;
  std::map<uint32_t, protocol::Assign> early_;  // of it, by part
  // The sharding of the last plan of parts; whether and when its planning is to be asked for again.
  std::optional<protocol::SourceSharding> sharding_;
  std::optional<uint64_t> planning_;  // which answer is awaited
  std::optional<TimeMs> plan_again_at_;
  State state_ = State::kReading;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_READER_H_
