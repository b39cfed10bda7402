// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What goes into the agent's state machine: plain data. The shell (worker_agent/agent.h) feeds
// events and carries effects (effects.h) out, in order, and decides nothing. Times are milliseconds
// of a monotonic clock that the shell reads; the core never does.

#ifndef TENSORHUB_WORKER_AGENT_CORE_EVENTS_H_
#define TENSORHUB_WORKER_AGENT_CORE_EVENTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "common/read_stream.h"
#include "common/time.h"
#include "protocol/messages/calls.h"
#include "protocol/messages/directives.h"
#include "protocol/messages/reports.h"

namespace tensorhub::agent {

// A contiguous part of the shard's canonical byte space.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t bytes = 0;
};

// --- verbs: what the owner of the client asks for ------------------------------------------------

// One at a time; each is answered by exactly one VerbDone.

struct PublishVerb {
  VersionNumber version = 0;
  bool wait_for_group = false;
  bool supersede = false;  // begins a new term with this version (R2)
  TimeMs timeout_ms = 60000;
};
struct UnpublishVerb {
  TimeMs drain_ms = 10000;
  bool force = false;  // also if a wanted version is lost (R7)
};
struct FetchVerb {
  VersionSelector selector;
  TimeMs timeout_ms = 600000;
  bool waits_out_outages = true;  // R8
  std::string traceparent = {};   // of the caller's trace, for who records this fetch
  bool partial = false;           // the version may have more than is registered
};
struct LeaveVerb {
  TimeMs drain_ms = 10000;
};
using Verb = std::variant<PublishVerb, UnpublishVerb, FetchVerb, LeaveVerb>;

// --- the hub's side -----------------------------------------------------------------------------

// The session is open and the hub has welcomed this worker.
struct SessionUp {
  protocol::Welcome welcome = {};
  bool moved = false;  // R8: it is another hub than before, which has adopted this worker
};
struct SessionDown {
  absl::Status why = {};  // for people; OK: the server is not reached
};
// The hub refused this worker for good (replaced, another hub): every verb fails with it.
struct SessionRefused {
  absl::Status status;
};

using protocol::FetchDecision;
using protocol::FinishReadReply;
using protocol::PublishReply;
using protocol::UnpublishReply;
// The answer to the Call effect with the same op. UNAVAILABLE without a payload: the hub was not
// reached; the core repeats the call when it can be.
struct CallReply {
  OpId op = 0;
  absl::Status status;
  protocol::Answer payload;
};

// --- the peers' side -----------------------------------------------------------------------------

// Header and payload are valid only during the call of Step and of carrying out its effects.
struct MessageArrived {
  std::string_view header;
  std::string_view payload;
};
// The transport no longer touches the memory of that SendData / Get.
struct SendDone {
  uint64_t token = 0;
  absl::Status status;
};
struct GetDone {
  uint64_t token = 0;
  absl::Status status;
  // Digests of what has passed, one per chunk, or none if not wanted. Some may be missing.
  std::vector<std::optional<uint64_t>> digests = {};
};
struct PeerFailed {
  Incarnation peer = 0;
  absl::Status status;
};
// Bytes of a message came that is not whole yet; `lossy`: by a path that has lost much of late.
struct PeerHeard {
  Incarnation peer = 0;
  bool lossy = false;
};
// SelfTestReceive found that nothing arrives any more, and the transport was made anew: no
// connection is left (those sends under way end with an error), and peers reach this worker at
// `endpoint`.
struct TransportReplaced {
  std::string endpoint;
};
// How a peer's bytes come is known. Served: payloads of up to so many bytes travel in one piece; 0:
// nothing is to be said of that.
struct PathKnown {
  Incarnation peer = 0;
  uint64_t unfragmented_bytes = 0;
  std::string way = {};  // for people: "one-sided over cuda_ipc/cuda"
};
// Whether the regions of a description could be mapped (answer to ImportMemory).
struct MemoryImported {
  Incarnation peer = 0;
  absl::Status status;
  // R4: its control word cannot be got; the peer itself has to be asked for it.
  bool word_by_message = false;
};
// What each part of another sharding brings, by part.
using ReadParts = std::shared_ptr<const std::vector<ReadStream>>;
// Answer to MakeReadPlan. UNAVAILABLE: the hub, which has the layouts, was not reached.
struct ReadPlanned {
  uint64_t token = 0;  // of MakeReadPlan
  absl::Status status;
  ReadParts parts = {};  // null: status
};
// Answer to HashChunks.
struct ChunksHashed {
  uint64_t token = 0;
  std::vector<uint64_t> digests;
};
// The value that a word get (GetWord) brought.
struct WordArrived {
  uint64_t token = 0;
  absl::Status status;
  uint64_t word = 0;
};

struct Registered {
  Fingerprint layout;
  uint64_t total_bytes = 0;
  Fingerprint attachment;
  // Peers on this host may read the memory one-sidedly; empty if not. Opaque to the core: made and
  // understood by the shells (addresses, keys, segments).
  std::string description;
  std::string medium = {};  // what the memory is, for people: "host", "cuda:0"
  // Where the contiguous pieces of memory begin in the byte space, ascending (FramePlan).
  std::vector<uint64_t> piece_begins;
  // One-sided reads reach other hosts as well.
  bool reads_far = false;
  // What these fields of CoreOptions are raised to for this memory.
  uint64_t window_bytes = 0;
  uint64_t get_bytes = 0;
  uint64_t scan_bytes = 0;
  uint64_t check_bytes = 0;
};

struct VerbAsked {
  Verb verb;
};
// The owner is about to leave: what runs ends soon, by its own way out, and of what is asked from
// now on only LeaveVerb and UnpublishVerb are done.
struct LeaveAsked {
  TimeMs drain_ms = 0;  // as the LeaveVerb's
};
// The owner wants the Publish or Fetch that runs to end soon, by its own way out.
struct CancelAsked {};
// This worker ends, with whatever state it is in: its peers are told. The last event.
struct Stopping {};
struct Tick {};

// The hub's directives (protocol/messages) are among them; Welcome comes as SessionUp. CopyFailed
// is the owner's answer to CopyWanted, if it is no, and goes to the hub as it is.
using Event =
    std::variant<Registered, VerbAsked, LeaveAsked, CancelAsked, Stopping, SessionUp, SessionDown,
                 SessionRefused, protocol::Assign, protocol::EndStream, protocol::SourceSharding,
                 ReadPlanned, protocol::AbortRead, protocol::Probe, protocol::Dropped,
                 protocol::Visible, protocol::Superseded, protocol::GroupChanged,
                 protocol::MakeCopy, protocol::ReleaseCopy, protocol::HashBoxes, CallReply,
                 MessageArrived, SendDone, GetDone, WordArrived, PeerFailed, TransportReplaced,
                 PeerHeard, PathKnown, MemoryImported, ChunksHashed, protocol::CopyFailed, Tick>;

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_EVENTS_H_
