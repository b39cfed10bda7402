// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What goes into the hub's state machine (what comes out: effects.h): plain data, the same words as
// the wire contract (proto/tensorhub/v1) but independent of it. Times are milliseconds of a
// monotonic clock that the caller reads; the core never does.

#ifndef TENSORHUB_SERVER_CORE_EVENTS_H_
#define TENSORHUB_SERVER_CORE_EVENTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "common/capability.h"
#include "common/content_identity.h"
#include "common/ids.h"
#include "common/layout.h"
#include "common/location.h"
#include "common/sharding_id.h"
#include "common/time.h"

namespace tensorhub::hub {

// The shell's handle for a call that waits for a reply; each is replied to exactly once.
using CallId = uint64_t;
// The shell's handle for an open session stream; never reused. 0: none.
using SessionId = uint64_t;

// --- what a worker says of itself when a session opens (R8: full state, each time) -------------

// The one version that a worker's buffers hold, whole or in part.
struct Holding {
  PublicationId publication;
  VersionNumber version = 0;
  uint32_t world_size = 0;  // of the publication: its number of shards
  uint64_t chunk_bytes = 0;
  Fingerprint layout;
  Fingerprint attachment;  // none: all zero
  Generation generation = 0;
  uint32_t valid_chunks = 0;
  bool complete = false;      // published here, or fetched and committed
  bool published = false;     // by this worker itself (not fetched)
  bool visible = false;       // the worker has heard that the version became visible
  std::string medium = {};    // for people
  GroupEpoch epoch = {};      // in which it was published, as the reply said
  ContentDigest digest = {};  // of the shard; none: not known
  bool hashing = false;       // it makes the digests just now, and will say
  // The version became visible, as the worker knows: what was fetched, or is being fetched, was;
  // what was published may not have been.
  bool seen() const { return visible || !published; }
  std::optional<Term> term = {};  // in which it was published; none: an older agent, which has none
  // The sharding by which its group has cut it, which world_size and chunk_bytes are of; none: as
  // it was published.
  ShardingRef sharding = {};
};

// One source of a read that has several (OpenFetch::streams).
struct OpenStream {
  uint32_t part = 0;  // as in Assign
  WorkerIdentity source;
  Generation generation = 0;  // of the source
  AssignmentNumber assignment = 0;
};

// A fetch whose decision the worker knows and whose outcome it does not.
struct OpenFetch {
  TransactionId transaction;
  PublicationId publication;
  VersionNumber version = 0;
  bool finished = false;  // all its chunks are valid (or it held the version before)
  // The source it reads from, if any; counted as that source's reader again.
  std::optional<WorkerIdentity> source;
  Generation source_generation = 0;
  AssignmentNumber assignment = 0;
  uint32_t plan = 0;                     // by which it reads (Assign::plan)
  std::vector<OpenStream> streams = {};  // if that has several; by part
  ShardingRef sharding = {};             // as the decision said
};

struct SessionOpened {
  SessionId session = 0;
  WorkerIdentity worker;
  SessionNumber number = 0;
  uint32_t world_size = 0;
  Location location;
  bool stable = true;
  // R7: its process makes a copy in host memory when asked (MakeCopy).
  bool offers_copies = false;
  // The worker is a copy of what that group's worker of the same rank held. Empty: it is none.
  std::string copy_of;
  // Opaque bytes by which peers reach the worker's data plane.
  std::string endpoint;
  // Connected to this hub, or to an earlier life of it, before.
  bool resumed = false;
  Id128 known_store = {};   // of the hub that it belongs to; none: it is new, or knows none
  GroupEpoch epoch = {};    // its group's, as it was told last
  GroupEpoch came_in = {};  // as it was told first; none: it is new, or does not say
  std::optional<Holding> holding;
  std::optional<OpenFetch> open_fetch;
  OpId gave_up_join = 0;  // as in Heartbeat
  // The worker reads from several sources at a time, and serves ranges of its bytes.
  bool knows_streams = false;
  // R9: whose session it is may publish the model, and so is believed what has become visible.
  bool may_publish = true;
  // The worker may be told to read from holders of another sharding (SourceSharding).
  bool knows_resharding = false;
  // R8: the call whose answer it has not had, and which it repeats now; 0: none. None: an older
  // agent, which does not say.
  std::optional<OpId> repeats = {};
  // R9: what readers of this worker are signed by; none: an older agent.
  CapabilityKey read_key = {};
};

struct SessionClosed {
  SessionId session = 0;
};

// --- what a worker says within a session (no reply) ---------------------------------------------

struct Heartbeat {
  SessionId session = 0;
  // R6: a JoinFetch whose answer it does not wait for any more; 0: none.
  OpId gave_up_join = 0;
  // R8: for how long its progress thread has been standing still.
  TimeMs stalled_ms = 0;
};

// The reader's committed prefix, told from time to time.
struct Progress {
  SessionId session = 0;
  PublicationId publication;
  Generation generation = 0;
  uint32_t valid_chunks = 0;
  std::string way = {};  // how bytes come from the present source; empty: nothing new
};

// The reader has no operation outstanding at that source any more (after a redirect); of
// kAllAssignments, at none: it is not in that fetch any more.
struct SourceReleased {
  SessionId session = 0;
  TransactionId transaction;
  AssignmentNumber assignment = 0;
};

// The reader cannot go on with that source; implies SourceReleased.
struct SourceFailed {
  SessionId session = 0;
  TransactionId transaction;
  AssignmentNumber assignment = 0;
  absl::Status reason;
};

// Nothing was heard from that source for a while. It is not given up: the reader goes on with it
// unless it is given another one.
struct SourceSilent {
  SessionId session = 0;
  TransactionId transaction;
  AssignmentNumber assignment = 0;
};

// Answer to Probe: whether the reference still stands, by the holder's own word.
struct ProbeAnswer {
  SessionId session = 0;
  Generation generation = 0;
  bool holds = false;
  bool verified = false;  // its bytes were hashed again
};

// R1: what it published has been hashed.
struct ContentHashed {
  SessionId session = 0;
  PublicationId publication;
  Generation generation = 0;
  ContentDigest digest;
};

// R7: the copy that was asked for (MakeCopy) is not made.
struct CopyFailed {
  SessionId session = 0;
  VersionNumber version = 0;
  absl::Status reason;
};

// --- operations: unary calls, idempotent through (incarnation, op) ------------------------------

struct Operation {
  CallId call = 0;
  WorkerIdentity worker;
  OpId op = 0;
};

// Fingerprints that the hub does not know are FAILED_PRECONDITION; PutLayout and repeat.
struct PublishOp : Operation {
  VersionNumber version = 0;
  Fingerprint layout;
  Fingerprint attachment;
  uint64_t chunk_bytes = 0;  // what this publisher proposes; the first publisher's holds
  Generation generation = 0;
  bool wait_for_group = false;
  TimeMs timeout_ms = 0;   // of wait_for_group, and of waiting to be compared (R1)
  bool supersede = false;  // begins a new term with this version (R2)
  // The latest term that this process knew when it came, or of what it has published or read since.
  // None: it does not say.
  std::optional<TermNumber> knows_term;
  std::string medium = {};  // for people
  // R1: it makes digests, and says later what they give (ContentHashed).
  bool hashes = false;
  // What these bytes give, cut as that publication is (PublishReply::compare); none: not compared.
  ContentDigest digest;
  PublicationId compared;
};

// A reader's buffers are free and have this generation: sources may be assigned.
struct ReadStart {
  TransactionId transaction;
  Generation generation = 0;
  std::string medium = {};  // for people
};

// Closes admission at once; replied to when no reader is left, or drain_ms later. R7: if this is
// the last copy of a wanted shard, only once somebody else keeps one; RESOURCE_EXHAUSTED, and
// admission is open as before, if there is nobody after drain_ms.
struct UnpublishOp : Operation {
  Generation generation = 0;
  TimeMs drain_ms = 0;
  bool leaving = false;  // after drain_ms it goes in any case
  bool force = false;    // whatever is lost
  // The fetch into these buffers: begun in the event that frees them, if the caller still waits
  // and BeginRead would be OK.
  std::optional<ReadStart> then_read;
};

struct JoinFetchOp : Operation {
  VersionSelector selector;
  // For kNewerThan: the term of the version that it names, if that is what the worker held last.
  std::optional<TermNumber> held_in;
  Fingerprint layout;
  TimeMs timeout_ms = 0;
};

struct BeginReadOp : Operation, ReadStart {};

// The rank is done: `result` OK means that all its chunks are valid. Replied to with the
// transaction's outcome, the same for every rank.
struct FinishReadOp : Operation {
  TransactionId transaction;
  absl::Status result;
  ContentDigest digest;  // of the shard that it holds then; none: not known
};

struct LeaveOp : Operation {};

// --- calls that change nothing -------------------------------------------------------------------

struct WaitOp {
  CallId call = 0;
  std::string model;
  // Replied to once `latest` > newer_than, and, with max_lag, once it is more than max_lag
  // versions (counted in visible versions) ahead of newer_than.
  VersionNumber newer_than = 0;
  std::optional<TermNumber> held_in;  // as in JoinFetchOp
  bool any = false;                   // any visible version will do; newer_than is ignored
  uint64_t max_lag = 0;
  TimeMs timeout_ms = 0;
};

// Documents that travel once per fingerprint. The shell has decoded and checked the layout.
struct PutLayoutOp {
  CallId call = 0;
  std::shared_ptr<const Layout> layout;
};
struct PutAttachmentOp {
  CallId call = 0;
  Fingerprint fingerprint;
  std::shared_ptr<const std::string> bytes;
};

// R7. What is kept of a model.
struct RetainOp {
  CallId call = 0;
  std::string model;
  uint32_t keep_latest = 0;  // of the versions that became visible; 0: none
};
// A version is kept while a pin names it; the same name again moves the pin.
struct PinOp {
  CallId call = 0;
  std::string model;
  std::string name;
  VersionNumber version = 0;
  TimeMs ttl_ms = 0;  // 0: until it is taken away
};
struct UnpinOp {
  CallId call = 0;
  std::string model;
  std::string name;
};

// R2. A new term begins after this version, which is held: all newer ones are superseded.
struct SupersedeOp {
  CallId call = 0;
  std::string model;
  VersionNumber version = 0;
};

// R3, R7. An operator takes a worker out of service, or (`undo`) back into it. The same order again
// is no other one, and is answered with how far it has got (DrainReply).
struct DrainOp {
  CallId call = 0;
  WorkerKey worker;
  bool undo = false;
};

// R8. The workers of another hub become this one's, when they come.
struct AdoptOp {
  CallId call = 0;
  Id128 store;
};

// Whether what is cut in one way can be read in another.
struct PlanKey {
  ShardingId from;
  ShardingId to;
  auto operator<=>(const PlanKey&) const = default;
};

// What a rank reads of one rank's shard.
struct ReadPart {
  Rank rank = 0;       // of the sharding that is read
  uint32_t share = 0;  // of the reader's bytes, in 1/1024
  bool operator==(const ReadPart&) const = default;
};

using PartsByRank = std::vector<std::vector<ReadPart>>;  // by the reader's rank

// The answer to PlanWanted.
struct PlanMade {
  PlanKey plan;
  absl::Status status;  // why it cannot be read so
  PartsByRank parts;
  bool full = false;  // the readers have, together, all that is read from
};

// The caller hung up; no reply is wanted. A fetch that waits for others leaves its transaction.
struct CallCancelled {
  CallId call = 0;
};

// Time passed; nothing else happened.
struct Tick {};

using Event = std::variant<SessionOpened, SessionClosed, Heartbeat, Progress, SourceReleased,
                           SourceFailed, SourceSilent, ProbeAnswer, ContentHashed, CopyFailed,
                           PublishOp, UnpublishOp, JoinFetchOp, BeginReadOp, FinishReadOp, LeaveOp,
                           WaitOp, PutLayoutOp, PutAttachmentOp, RetainOp, PinOp, UnpinOp,
                           SupersedeOp, DrainOp, AdoptOp, PlanMade, CallCancelled, Tick>;

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_EVENTS_H_
