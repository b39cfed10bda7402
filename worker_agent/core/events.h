// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What goes into the agent's state machine and what comes out: plain data. The shell
// (worker_agent/agent.h) feeds events and carries effects out, in order, and decides nothing.
// Times are milliseconds of a monotonic clock that the shell reads; the core never does.

#ifndef TENSORHUB_WORKER_AGENT_CORE_EVENTS_H_
#define TENSORHUB_WORKER_AGENT_CORE_EVENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "common/layout.h"
#include "common/location.h"
#include "common/time.h"

namespace tensorhub::agent {

// A contiguous part of the shard's canonical byte space.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t bytes = 0;
};

// --- verbs: what the owner of the client asks for ------------------------------------------------

// One at a time; each is answered by exactly one VerbDone.

struct PublishVerb {
  Version version = 0;
  bool wait_for_group = false;
  bool rewind = false;
  TimeMs timeout_ms = 60000;
};
struct UnpublishVerb {
  TimeMs drain_ms = 10000;
  bool force = false;  // also if a wanted version is lost (R7)
};
struct FetchVerb {
  Selector selector;
  TimeMs timeout_ms = 600000;
};
struct LeaveVerb {
  TimeMs drain_ms = 10000;
};
using Verb = std::variant<PublishVerb, UnpublishVerb, FetchVerb, LeaveVerb>;

// --- the hub's side -----------------------------------------------------------------------------

// The session is open and the hub has welcomed this worker.
struct SessionUp {
  TimeMs lease_ms = 5000;
  TimeMs heartbeat_ms = 1000;
  // It lacks the layout or the attachment of what this worker reported to hold.
  bool wants_documents = false;
  GroupEpoch epoch = {};  // its group's
};
struct SessionDown {};
// The hub refused this worker for good (replaced, another hub): every verb fails with it.
struct SessionRefused {
  absl::Status status;
};

struct AssignDirective {
  TransactionId transaction;
  AssignmentNumber assignment = 0;
  WorkerIdentity source;
  std::string endpoint;
  Generation generation = 0;
  PublicationId publication;
  Tier tier = Tier::kRemote;
  TimeMs progress_ms = 100;
};
struct AbortReadDirective {
  TransactionId transaction;
  absl::Status reason;
};
struct ProbeDirective {
  Generation generation = 0;
  bool verify = false;  // hash the bytes again before answering
};
struct DroppedDirective {
  Generation generation = 0;
  absl::Status reason;
};
struct VisibleDirective {
  PublicationId publication;
};
// R2: another epoch has begun for its group, and this worker is in it.
struct GroupChangedDirective {
  GroupEpoch epoch;
};
// R7: what this worker's group holds must not be lost; a copy of all its shards, made within this
// time, would free its buffers. This worker's own may be free already.
struct MakeCopyDirective {
  PublicationId publication;
  Version version = 0;
  TimeMs within_ms = 10'000;
};
// This worker is a copy, and nobody wants its version any more.
struct ReleaseCopyDirective {
  Generation generation = 0;
};

struct PublishReply {
  PublicationId publication;
  uint64_t chunk_bytes = 0;
  bool visible = false;
  GroupEpoch epoch = {};  // to which this publish belongs
};
struct UnpublishReply {
  uint32_t readers_left = 0;  // when the drain time was up
  bool begun = false;         // UnpublishCall::then_read; if not, BeginReadCall says why
};
struct FetchDecision {
  TransactionId transaction;
  PublicationId publication;
  Version version = 0;
  uint32_t world_size = 0;
  uint64_t chunk_bytes = 0;
  Fingerprint attachment;
  bool already_held = false;
};
struct FinishReply {  // with every outcome, also with one that is an error
  Version version = 0;
};
// The answer to the Call effect with the same op. UNAVAILABLE without a payload: the hub was not
// reached; the core repeats the call when it can be.
struct CallReply {
  OpId op = 0;
  absl::Status status;
  std::variant<std::monostate, PublishReply, UnpublishReply, FetchDecision, FinishReply> payload;
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
  // Of what has passed, one per chunk, or none at all if they were not wanted. Some may be missing.
  std::vector<std::optional<uint64_t>> digests = {};
};
struct PeerFailed {
  Incarnation peer = 0;
  absl::Status status;
};
// TestHearing found that nothing arrives any more, and the transport was made anew: no connection
// is left (those sends under way end with an error), and peers reach this worker at `endpoint`.
struct Moved {
  std::string endpoint;
};
// How a peer's bytes come is known. Served: payloads of up to so many bytes travel in one piece; 0:
// nothing is to be said of that.
struct LaneKnown {
  Incarnation peer = 0;
  uint64_t whole_bytes = 0;
  std::string way = {};  // for people: "one-sided over cuda_ipc/cuda"
};
// Whether the regions of a description could be mapped (answer to ImportMemory).
struct MemoryImported {
  Incarnation peer = 0;
  absl::Status status;
  // R4: its control word cannot be got; the peer itself has to be asked for it.
  bool word_is_asked = false;
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
// This worker ends, with whatever state it is in: its peers are told. The last event.
struct Stopping {};
// The owner's answer to CopyWanted, if it is no.
struct CopyFailed {
  Version version = 0;
  absl::Status reason;
};
struct Tick {};

using Event =
    std::variant<Registered, VerbAsked, LeaveAsked, Stopping, SessionUp, SessionDown,
                 SessionRefused, AssignDirective, AbortReadDirective, ProbeDirective,
                 DroppedDirective, VisibleDirective, GroupChangedDirective, MakeCopyDirective,
                 ReleaseCopyDirective, CallReply, MessageArrived, SendDone, GetDone, WordArrived,
                 PeerFailed, Moved, LaneKnown, MemoryImported, ChunksHashed, CopyFailed, Tick>;

// --- effects -------------------------------------------------------------------------------------

struct PublishCall {
  Version version = 0;
  Fingerprint layout;
  Fingerprint attachment;
  uint64_t chunk_bytes = 0;
  Generation generation = 0;
  bool wait_for_group = false;
  bool rewind = false;
  TimeMs timeout_ms = 0;
  std::string medium = {};
};
struct JoinFetchCall {
  Selector selector;
  Fingerprint layout;
  TimeMs timeout_ms = 0;
};
struct BeginReadCall {
  TransactionId transaction;
  Generation generation = 0;
  std::string medium = {};
};
struct UnpublishCall {
  Generation generation = 0;
  TimeMs drain_ms = 0;
  bool leaving = false;
  bool force = false;
  // Of a fetch: the hub does this as well, if it knows how and the fetch still stands.
  std::optional<BeginReadCall> then_read = {};
};
struct FinishReadCall {
  TransactionId transaction;
  absl::Status result;
};
struct LeaveCall {};
// A unary call to the hub; answered by CallReply. The same op may be called again.
struct Call {
  OpId op = 0;
  std::variant<PublishCall, UnpublishCall, JoinFetchCall, BeginReadCall, FinishReadCall, LeaveCall>
      request;
};
// Nobody wants that call's answer any more.
struct CancelCall {
  OpId op = 0;
};
// Put the layout and the attachment (whichever there is), before any later Call.
struct PutDocuments {};

struct HeartbeatMessage {
  OpId gave_up_join = 0;  // a JoinFetch whose answer is not awaited any more; 0: none
};
struct ProgressMessage {
  PublicationId publication;
  Generation generation = 0;
  uint32_t valid_chunks = 0;
  std::string way = {};  // of the present source; empty: not known yet, or there is none any more
};
struct SourceReleasedMessage {
  TransactionId transaction;
  AssignmentNumber assignment = 0;  // kAllAssignments: this worker is not in that fetch any more
};
struct SourceFailedMessage {
  TransactionId transaction;
  AssignmentNumber assignment = 0;
  absl::Status reason;
};
// Nothing was heard from it for a while; another source would be welcome.
struct SourceSilentMessage {
  TransactionId transaction;
  AssignmentNumber assignment = 0;
};
struct ProbeAnswerMessage {
  Generation generation = 0;
  bool holds = false;
  bool verified = false;  // as far as there are digests
};
// R7: the copy that was asked for is not made.
struct CopyFailedMessage {
  Version version = 0;
  absl::Status reason;
};
struct SessionSend {
  std::variant<HeartbeatMessage, ProgressMessage, SourceReleasedMessage, SourceFailedMessage,
               SourceSilentMessage, ProbeAnswerMessage, CopyFailedMessage>
      message;
};

// Peers are named by incarnation. Opening an open peer closes the old connection first. A peer
// that cannot be connected is reported by PeerFailed.
struct OpenPeer {
  Incarnation peer = 0;
  std::string endpoint;
};
struct ClosePeer {
  Incarnation peer = 0;
};
// Sends a last word; the connection is closed when that has left.
struct PartFrom {
  Incarnation peer = 0;
  std::string header;
};
// Find out whether anything that peers send still arrives; Moved follows if not.
struct TestHearing {};
// Open the session anew: peers reach this worker at `endpoint` from now on.
struct MoveSession {
  std::string endpoint;
};
struct SendMessage {
  Incarnation peer = 0;
  std::string header;
};
// Sends `header` and the bytes of `range` from the registered memory; SendDone(token) follows.
struct SendData {
  Incarnation peer = 0;
  std::string header;
  ByteRange range;
  uint64_t token = 0;
};
// Sends the own memory's description as payload of `header`; SendDone(token) follows.
struct SendDescription {
  Incarnation peer = 0;
  std::string header;
  uint64_t token = 0;
};
// Copies the current message's payload into the registered memory.
struct CopyIn {
  Incarnation peer = 0;  // who sent it
  uint64_t begin = 0;
  std::string_view payload;
};
// Maps a peer's memory by the description in the current message's payload (or the one kept from
// before, if empty). Answered by MemoryImported.
struct ImportMemory {
  Incarnation peer = 0;
  std::string_view description;
};
// Reads the same canonical range of the peer's memory into the own; one GetDone(token) follows.
struct Get {
  Incarnation peer = 0;
  ByteRange range;
  uint64_t token = 0;
  // The range is chunks of this size, the last one perhaps a shorter one, whose digests are wanted
  // where they can be made as the bytes pass; 0: they are not.
  uint64_t digest_every = 0;
};
// Reads the peer's control word; WordArrived(token) follows.
struct GetWord {
  Incarnation peer = 0;
  uint64_t token = 0;
};
// Hashes `count` chunks of the registered memory from `first` on: XXH3-64 of each one's bytes. One
// ChunksHashed(token) follows. The memory is only read, and is there for the life of the agent; so
// nobody waits for the end before the bytes change. `urgent`: a single chunk that a read waits for;
// `beside`: whose source, on this host, has a core to spare meanwhile.
struct HashChunks {
  uint64_t token = 0;
  Chunking chunking;
  uint32_t first = 0;
  uint32_t count = 0;
  bool urgent = false;
  bool beside = false;
};
// Force-closes the one-sided connection: outstanding gets complete, with whatever status.
struct CloseGets {
  Incarnation peer = 0;
};
// Stores the control word (R4), with release order, before any later effect.
struct SetControlWord {
  ControlWord word;
};

// Buffers that could be read were freed, and not all readers had gone, or nobody could say so: some
// may hang in the middle of connecting here.
struct ReadersLeft {};

// The owner should have a copy made of this version's shard in other memory, and say CopyFailed if
// that cannot be done.
struct CopyWanted {
  Version version = 0;
  TimeMs within_ms = 0;
};
// The owner should unpublish what this copy holds.
struct CopyReleased {};

struct FetchOutcome {
  Version version = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_skipped = 0;
  bool one_sided = false;
  std::string way;  // LaneKnown's, of the last source that bytes came from; empty: none came
  std::string sources;
};
struct VerbDone {
  absl::Status status;
  FetchOutcome fetch;
};
// For progress bars; at most every 100 ms, and at the end.
struct FetchAdvanced {
  Version version = 0;
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
  std::string source;
};
struct LogLine {
  enum class Level { kDebug, kInfo, kWarning };
  Level level = Level::kInfo;
  std::string text;
};

using Effect =
    std::variant<Call, CancelCall, PutDocuments, SessionSend, OpenPeer, ClosePeer, PartFrom,
                 TestHearing, MoveSession, SendMessage, SendData, SendDescription, CopyIn,
                 ImportMemory, Get, GetWord, CloseGets, HashChunks, SetControlWord, ReadersLeft,
                 CopyWanted, CopyReleased, VerbDone, FetchAdvanced, LogLine>;
// To be carried out in this order.
using Effects = std::vector<Effect>;

// What the agent reports when a session opens (R8).
struct HoldingReport {
  PublicationId publication;
  Version version = 0;
  uint32_t world_size = 0;
  uint64_t chunk_bytes = 0;
  Fingerprint layout;
  Fingerprint attachment;
  Generation generation = 0;
  uint32_t valid_chunks = 0;
  bool complete = false;
  bool published = false;
  bool visible = false;
  std::string medium = {};
  GroupEpoch epoch = {};  // in which it was published
};
struct OpenFetchReport {
  TransactionId transaction;
  PublicationId publication;
  Version version = 0;
  bool finished = false;
  std::optional<WorkerIdentity> source;
  Generation source_generation = 0;
  AssignmentNumber assignment = 0;
};
struct StateReport {
  GroupEpoch epoch = {};    // its group's, as it was told last
  GroupEpoch came_in = {};  // as it was told first
  std::optional<HoldingReport> holding;
  std::optional<OpenFetchReport> open_fetch;
  OpId gave_up_join = 0;  // as in HeartbeatMessage
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_EVENTS_H_
