// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reports: what a worker says to its hub within a session, and of itself when it opens one. Nothing
// of it has a reply. Plain data, the same for both cores, both shells and the simulator;
// protocol/codec writes and reads it. Times are in milliseconds.

#ifndef TENSORHUB_PROTOCOL_MESSAGES_REPORTS_H_
#define TENSORHUB_PROTOCOL_MESSAGES_REPORTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "common/capability.h"
#include "common/content_identity.h"
#include "common/ids.h"
#include "common/location.h"
#include "common/sharding_id.h"
#include "common/time.h"

namespace tensorhub::protocol {

// --- what a worker says of itself when a session opens (R8: full state, each time) -------------

// The one version that a worker's buffers hold, whole or in part.
struct Holding {
  PublicationId publication = {};
  VersionNumber version = 0;
  uint32_t world_size = 0;  // of the publication: its number of shards
  uint64_t chunk_bytes = 0;
  Fingerprint layout = {};
  Fingerprint attachment = {};  // none: all zero
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
  WorkerIdentity source = {};
  Generation generation = 0;  // of the source
  AssignmentNumber assignment = 0;
};

// A fetch whose decision the worker knows and whose outcome it does not.
struct OpenFetch {
  TransactionId transaction = {};
  PublicationId publication = {};
  VersionNumber version = 0;
  bool finished = false;  // all its chunks are valid (or it held the version before)
  // The source it reads from, if any; counted as that source's reader again.
  std::optional<WorkerIdentity> source = {};
  Generation source_generation = 0;
  AssignmentNumber assignment = 0;
  uint32_t plan = 0;                     // by which it reads (Assign::plan)
  std::vector<OpenStream> streams = {};  // if that has several; by part
  ShardingRef sharding = {};             // as the decision said
};

// The first message of a session.
struct OpenSession {
  WorkerIdentity worker = {};
  SessionNumber number = 0;
  uint32_t world_size = 0;
  Location location = {};
  bool stable = true;
  // R7: its process makes a copy in host memory when asked (MakeCopy).
  bool offers_copies = false;
  // The worker is a copy of what that group's worker of the same rank held. Empty: it is none.
  std::string copy_of = {};
  // Opaque bytes by which peers reach the worker's data plane.
  std::string endpoint = {};
  // Connected to this hub, or to an earlier life of it, before.
  bool resumed = false;
  Id128 known_store = {};        // of the hub that it belongs to; none: it is new, or knows none
  uint64_t known_hub_epoch = 0;  // the latest life of it
  GroupEpoch epoch = {};         // its group's, as it was told last
  GroupEpoch joined_epoch = {};  // as it was told first; none: it is new, or does not say
  std::optional<Holding> holding = {};
  std::optional<OpenFetch> open_fetch = {};
  OpId abandoned_join_op = 0;  // as in Heartbeat
  // The worker reads from several sources at a time, and serves ranges of its bytes.
  bool knows_streams = false;
  // The worker may be told to read from holders of another sharding (SourceSharding).
  bool knows_resharding = false;
  // The worker says what boxes of its shard give (HashBoxes).
  bool knows_boxes = false;
  // R8: the call whose answer it has not had, and which it repeats now; 0: none. None: an older
  // agent, which does not say.
  std::optional<OpId> repeats = {};
  // R9: what readers of this worker are signed by; none: an older agent.
  CapabilityKey read_key = {};
};

// --- what it says from then on ------------------------------------------------------------------

struct Heartbeat {
  // R6: a JoinFetch whose answer it does not wait for any more; 0: none.
  OpId abandoned_join_op = 0;
  // R8: for how long its progress thread has been standing still. The agent's shell says it.
  TimeMs stalled_ms = 0;
};
// The reader's committed prefix, told from time to time.
struct Progress {
  PublicationId publication = {};
  Generation generation = 0;
  uint32_t valid_chunks = 0;
  // How bytes come from the present source. Empty: nothing new, not known yet, or no source.
  std::string way = {};
};
// The reader has no operation outstanding at that source any more (after a redirect); of
// kAllAssignments, at none: it is not in that fetch any more.
struct SourceReleased {
  TransactionId transaction = {};
  AssignmentNumber assignment = 0;
};
// The reader cannot go on with that source; implies SourceReleased.
struct SourceFailed {
  TransactionId transaction = {};
  AssignmentNumber assignment = 0;
  absl::Status reason = {};
};
// Nothing was heard from that source for a while. It is not given up: the reader goes on with it
// unless it is given another one.
struct SourceSilent {
  TransactionId transaction = {};
  AssignmentNumber assignment = 0;
};
// Answer to Probe: whether the reference still stands, by the holder's own word.
struct ProbeAnswer {
  Generation generation = 0;
  bool holds = false;
  bool verified = false;  // its bytes were hashed again, as far as there are digests
};
// R1: what it published has been hashed.
struct ContentHashed {
  PublicationId publication = {};
  Generation generation = 0;
  ContentDigest digest = {};
};
// R7: the copy that was asked for (MakeCopy) is not made.
struct CopyFailed {
  VersionNumber version = 0;
  absl::Status reason = {};
};

// R1: the answer to HashBoxes.
struct BoxesHashed {
  Generation generation = 0;
  uint64_t question = 0;
  std::vector<uint64_t> digests = {};  // by box
};

using WorkerMessage = std::variant<Heartbeat, Progress, SourceReleased, SourceFailed, SourceSilent,
                                   ProbeAnswer, ContentHashed, CopyFailed, BoxesHashed>;

}  // namespace tensorhub::protocol

#endif  // TENSORHUB_PROTOCOL_MESSAGES_REPORTS_H_
