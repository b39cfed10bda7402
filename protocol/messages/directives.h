// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Directives: what a hub says to a worker within its session. Plain data, the same for both cores,
// both shells and the simulator; protocol/codec writes and reads it. Times are in milliseconds.

#ifndef TENSORHUB_PROTOCOL_MESSAGES_DIRECTIVES_H_
#define TENSORHUB_PROTOCOL_MESSAGES_DIRECTIVES_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "common/capability.h"
#include "common/content_identity.h"
#include "common/ids.h"
#include "common/location.h"
#include "common/time.h"

namespace tensorhub::protocol {

// The session is open. The first directive of each.
struct Welcome {
  TimeMs lease_ms = 5000;
  TimeMs heartbeat_ms = 1000;
  // The holding that the worker reported rests on documents that the hub does not know.
  bool wants_documents = false;
  GroupEpoch epoch = {};      // of the group, the latest that this worker is known to be in
  TermNumber term = 0;        // of the model, the latest
  Id128 adopts = {};          // the store that the worker knew, if it is another hub's
  bool guards_reads = false;  // R9: Assign brings capabilities
  // An older hub, which would refuse ContentHashed.
  bool refuses_content = false;
  // Which hub it is, and which life of it. The hub's shell adds it: its core does not know.
  Id128 store = {};  // none: nothing is kept
  uint64_t hub_epoch = 0;
  std::string server_version = {};  // for people
};
// R2: another epoch has begun for its group, and this worker is in it.
struct GroupChanged {
  GroupEpoch epoch = {};
};
// Read (on) from this source. The reader first releases the one before, with SourceReleased.
struct Assign {
  TransactionId transaction = {};
  AssignmentNumber assignment = 0;
  WorkerIdentity source = {};
  std::string endpoint = {};
  Generation generation = 0;
  PublicationId publication = {};
  Tier tier = Tier::kRemote;
  TimeMs progress_ms = 100;    // between reports of progress
  ContentDigest digest = {};   // of the shard (R1); none: not known yet
  uint32_t plan = 0;           // rises when the read is divided otherwise
  uint32_t part = 0;           // the stream that this source feeds
  bool ranges = false;         // several sources feed the read
  bool parts = false;          // of another sharding (SourceSharding)
  Capability capability = {};  // R9: what the reader shows the source; none: that one asks for none
};
// Stop reading, then settle with FinishRead.
struct AbortRead {
  TransactionId transaction = {};
  absl::Status reason = {};
};
// A reader complained: check yourself and answer (R8).
struct Probe {
  Generation generation = 0;
  bool verify = false;  // hash the bytes again before answering
};
// The reference with this generation is no longer listed (its group's publication was aborted):
// readers will not come; the buffers are the owner's again.
struct Dropped {
  Generation generation = 0;
  absl::Status reason = {};
};
// The version that the worker holds became visible.
struct Visible {
  PublicationId publication = {};
};
// R2: a later term supersedes what the worker holds, or reads.
struct Superseded {
  PublicationId publication = {};
  absl::Status reason = {};
};
// R7: a rank of the worker's group waits to unpublish the last copy of this. One of all the group's
// shards in host memory, made within this time, would let it go. This worker's own buffers may be
// free already.
struct MakeCopy {
  PublicationId publication = {};
  VersionNumber version = 0;
  TimeMs within_ms = 10'000;
};
// This worker is a copy, and nobody wants its version any more.
struct ReleaseCopy {
  Generation generation = 0;
};
// This stream of a read that has several ends; it releases its source, and the others bring what it
// has not brought.
struct EndStream {
  TransactionId transaction = {};
  AssignmentNumber assignment = 0;
};
// Before the assignments of this plan, and again in each session: whom they lead to holds another
// sharding of the publication, and each stream brings what the reader's slices have in common with
// one of its shards.
struct SourceSharding {
  struct Part {
    Rank rank = 0;  // of that sharding
    Fingerprint layout = {};
    bool operator==(const Part&) const = default;
  };
  TransactionId transaction = {};
  uint32_t plan = 0;
  uint32_t world_size = 0;       // of that sharding
  uint64_t chunk_bytes = 0;      // likewise
  std::vector<Part> parts = {};  // by part (Assign)
  bool operator==(const SourceSharding&) const = default;
};

// R1: other ranks publish these parts of the worker's byte space, too. Answered by BoxesHashed.
struct HashBoxes {
  struct Range {
    uint64_t begin = 0;
    uint64_t bytes = 0;
    bool operator==(const Range&) const = default;
  };
  Generation generation = 0;
  uint64_t question = 0;
  std::vector<Range> boxes = {};  // at most kAskedBoxesMax
};

using HubMessage =
    std::variant<Welcome, GroupChanged, Assign, AbortRead, Probe, Dropped, Visible, Superseded,
                 MakeCopy, ReleaseCopy, EndStream, SourceSharding, HashBoxes>;

}  // namespace tensorhub::protocol

#endif  // TENSORHUB_PROTOCOL_MESSAGES_DIRECTIVES_H_
