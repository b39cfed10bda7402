// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Being a source: serves chunks of the own reference to readers. A read is a stream: the reader
// opens it at a chunk and raises a credit; this side sends frames in canonical order up to the
// credit and its own valid prefix (R5), and says after each send completed how far the bytes are
// confirmed (R4). A read of ranges is the same for what the reader names, piece by piece. One-sided
// readers take the bytes themselves; they are told of the prefix. Who wants the chunks' digests is
// told each as soon as it is known here, whatever the credit: they are a few bytes, and never hold
// up data.
//
// R9: once its hub gives readers capabilities, a source that has a key tells nobody else anything
// of what it holds (Trespass). A read that was open before goes on.
//
// Invariants: 1. a frame is issued only below the valid prefix of the read's generation;
// 2. `confirmed` covers only frames whose send completed while that generation still stood;
// 3. after DropAll nothing is issued for the reads there were.

#ifndef TENSORHUB_WORKER_AGENT_CORE_CHUNK_SERVER_H_
#define TENSORHUB_WORKER_AGENT_CORE_CHUNK_SERVER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "worker_agent/core/agent_core.h"
#include "worker_agent/core/digests.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/frame_plan.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/core/reference.h"
#include "worker_agent/core/send_rate.h"
#include "worker_agent/core/wanted_ranges.h"

namespace tensorhub::agent {

class ChunkServer {
 public:
  // All outlive the server. `digests` are those of the reference's content.
  ChunkServer(const CoreOptions& options, const Reference& reference, const Digests& digests,
              uint64_t& next_token)
      : options_(options), reference_(reference), digests_(digests), next_token_(next_token) {}

  // One-sided readers are offered the memory if there is a description of it.
  void OfferDescription(bool offer) { offer_description_ = offer; }
  void SetFramePlan(FramePlan plan) { frames_ = std::move(plan); }
  // Whether the hub gives readers capabilities, so that those who open reads have one to show.
  void Guard(bool guards) { guards_ = guards && options_.read_key; }

  // The buffers will soon be read into under this generation, and readers may come for it before:
  // they wait until EndAnnouncement, and are then judged by what the buffers mean (Problem).
  void Announce(Generation generation) { announced_ = generation; }
  void EndAnnouncement(Effects& effects);

  // A read of chunks, or of ranges, is opened.
  void OnOpen(const PeerMessage& message, TimeMs now, Effects& effects);
  void OnRequest(const PeerMessage& message, TimeMs now, Effects& effects);
  // More ranges of a read of ranges.
  void OnWant(const PeerMessage& message, TimeMs now, Effects& effects);
  // R4: the word as this live source sees it now, to a reader that cannot get it.
  void OnAskWord(const PeerMessage& message, TimeMs now, Effects& effects);
  void OnClose(const PeerMessage& message);
  void OnSendDone(const SendDone& event, TimeMs now, Effects& effects);
  // The reference's prefix grew, or became known.
  void OnGrown(TimeMs now, Effects& effects);
  // More digests are known, or it became known that there will be no more.
  void OnDigests(Effects& effects);
  void OnTick(TimeMs now, Effects& effects);
  void DropPeer(Incarnation peer);
  // The peer has a read open here.
  bool Serves(Incarnation peer) const;
  bool idle() const { return reads_.empty(); }
  size_t open() const { return reads_.size(); }
  // R3/R4: the generation is raised; every open read is refused.
  void DropAll(const absl::Status& reason, Effects& effects);

  // Sends that the transport has not completed, of open and of dropped reads.
  size_t outstanding_sends() const { return sends_.size(); }
  std::optional<TimeMs> NextDeadline() const;
  bool Busy() const;

 private:
  using ReadKey = std::pair<Incarnation, uint64_t>;
  struct Read {
    Generation generation = 0;
    PublicationId publication;
    uint64_t chunk_bytes = 0;
    uint32_t first_chunk = 0;
    uint32_t credit = 0;  // chunks below it may be sent
    uint64_t issued = 0;  // next byte to issue; set when the chunking is known
    bool started = false;
    bool one_sided = false;
    bool asks_words = false;  // one-sided, and its next copies wait for our answers
    // A read of ranges: `first_chunk`, `credit`, `issued` and `told_confirmed` mean nothing then.
    std::optional<RangeQueue> ranges;
    bool hash_parts = false;
    bool only_digests = false;  // so its reader is allowed
    uint64_t told_proven = 0;   // position
    uint32_t told_confirmed = 0;
    uint32_t told_valid = 0;
    std::map<uint64_t, uint64_t> in_flight;  // token -> first byte; of ranges, its position
    uint64_t in_flight_bytes = 0;
    TimeMs said_at = 0;
    SendRate rate;
    uint64_t unfragmented_bytes = 0;  // as the reader said; 0: unknown
    bool wants_digests = false;
    uint64_t told_digests = 0;  // chunks below it; also what the reader had
    bool told_ended = false;
  };

  // What came of a read before the buffers could be read from.
  struct EarlyRead {
    PeerMessage open;
    std::optional<PeerMessage> request;
    TimeMs at = 0;
  };

  void Keep(const ReadKey& key, const PeerMessage& open, TimeMs now, Effects& effects);
  std::optional<absl::Status> Trespass(const PeerMessage& open) const;
  void TurnAway(const PeerMessage& open, const absl::Status& reason, Effects& effects);
  std::optional<absl::Status> Problem(const Read& read) const;
  bool Start(const ReadKey& key, Read& read, Effects& effects);
  void Pump(const ReadKey& key, Read& read, TimeMs now, Effects& effects);
  void IssueFrame(const ReadKey& key, Read& read, uint64_t end, TimeMs now, Effects& effects);
  void Confirm(const ReadKey& key, Read& read, TimeMs now, Effects& effects);
  void TellDigests(const ReadKey& key, Read& read, Effects& effects) const;
  void TellSomeDigests(const ReadKey& key, Read& read, Effects& effects) const;
  uint64_t LinkBytes(const Read& read) const;
  uint64_t FrameBytes(const Read& read) const;
  uint64_t AheadBytes(const Read& read) const;
  uint32_t ConfirmedChunks(const Read& read) const;
  uint64_t SendableEnd(const Read& read) const;
  bool HasUnsent(const Read& read) const;
  // How the read stands, and that the source lives; `read` keeps what was said.
  PeerMessage Standing(const ReadKey& key, Read& read, TimeMs now) const;
  // chunk_server_ranges.cc
  uint64_t ValidBytes() const;
  static uint64_t Proven(const Read& read);
  void PutPositions(Read& read, PeerMessage& message) const;
  void PumpRanges(const ReadKey& key, Read& read, TimeMs now, Effects& effects);
  ByteRanges NextPart(const Read& read) const;
  void IssuePart(const ReadKey& key, Read& read, ByteRanges pieces, TimeMs now, Effects& effects);
  PeerMessage Header(PeerKind kind, const ReadKey& key, const Read& read) const;
  void Refuse(const ReadKey& key, const absl::Status& reason, Effects& effects) const;

  const CoreOptions& options_;
  const Reference& reference_;
  const Digests& digests_;
  uint64_t& next_token_;
  bool guards_ = false;
  std::set<Incarnation> turned_away_;  // those that the log names
  bool offer_description_ = false;
  FramePlan frames_;
  std::map<ReadKey, Read> reads_;
  std::optional<Generation> announced_;
  std::map<ReadKey, EarlyRead> early_;  // of `announced_`
  // Outstanding sends: which read, and how many bytes. Entries outlive dropped reads.
  struct Outstanding {
    ReadKey key;
    uint64_t bytes = 0;
  };
  std::map<uint64_t, Outstanding> sends_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_CHUNK_SERVER_H_
