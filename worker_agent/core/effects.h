// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What comes out of the agent's state machine, for the shell to carry out in order, and what the
// agent reports to a hub: plain data. Times are those of the events (events.h).

#ifndef TENSORHUB_WORKER_AGENT_CORE_EFFECTS_H_
#define TENSORHUB_WORKER_AGENT_CORE_EFFECTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "common/layout.h"
#include "common/time.h"
#include "protocol/messages/calls.h"
#include "protocol/messages/reports.h"
#include "worker_agent/core/events.h"

namespace tensorhub::agent {

// A unary call to the hub; answered by CallReply. The same op may be called again.
struct Call {
  OpId op = 0;
  protocol::Request request;
};
// Nobody wants that call's answer any more.
struct CancelCall {
  OpId op = 0;
};
// Put the layout and the attachment (whichever there is), before any later Call.
struct PutDocuments {};

struct SessionSend {
  protocol::WorkerMessage message;
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
// Find out whether anything that peers send still arrives; TransportReplaced follows if not.
struct SelfTestReceive {};
// Open the session anew: peers reach this worker at `endpoint` from now on.
struct MoveSession {
  std::string endpoint;
};
struct SendMessage {
  Incarnation peer = 0;
  std::string header;
};
// Most often it is one.
using ByteRanges = absl::InlinedVector<ByteRange, 1>;
// Sends `header` and the bytes of `ranges`, one behind the other, from the registered memory;
// SendDone(token) follows.
struct SendData {
  Incarnation peer = 0;
  std::string header;
  ByteRanges ranges;
  uint64_t token = 0;
  bool hashed = false;  // the header gets the digest of these bytes first (SetPayloadDigest)
};
// Sends the own memory's description as payload of `header`; SendDone(token) follows.
struct SendDescription {
  Incarnation peer = 0;
  std::string header;
  uint64_t token = 0;
};
// Copies the current message's payload into the registered memory: to these ranges, one after the
// other, which take just as much.
struct CopyIn {
  Incarnation peer = 0;  // who sent it
  ByteRanges ranges;
  std::string_view payload;
};
// Maps a peer's memory by the description in the current message's payload (or the one kept from
// before, if empty). Answered by MemoryImported.
struct ImportMemory {
  Incarnation peer = 0;
  std::string_view description;
  bool same_size = true;  // as the own
};
// A run of bytes, of the peer's byte space and of the own.
struct CopyRun {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t bytes = 0;
};
// One read has gets from so many peers at most; what it takes from others they send.
inline constexpr size_t kGotFromMax = 16;
// Reads these runs of the peer's memory into the own; one GetDone(token) follows.
struct Get {
  Incarnation peer = 0;
  absl::InlinedVector<CopyRun, 1> runs;
  uint64_t token = 0;
  // There is one run, of chunks of this size, the last one perhaps a shorter one, whose digests are
  // wanted where they can be made as the bytes pass; 0: they are not.
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
  // Not empty: `count` ranges of the byte space instead, one digest each.
  std::vector<ByteRange> ranges = {};

  ByteRange at(uint32_t i) const {
    return ranges.empty() ? ByteRange{chunking.begin(i), chunking.size(i)} : ranges[i];
  }
};
// Find out which bytes each part brings, from its layout and the own one (common/read_plan.h): of a
// sharding of so many ranks. Answered by ReadPlanned, later.
struct MakeReadPlan {
  uint64_t token = 0;
  uint32_t world_size = 0;
  std::vector<protocol::SourceSharding::Part> parts;
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
struct ReadersAbandoned {};

// The owner should have a copy made of this version's shard in other memory, and say CopyFailed if
// that cannot be done.
struct CopyWanted {
  VersionNumber version = 0;
  TimeMs within_ms = 0;
};
// The owner should unpublish what this copy holds.
struct CopyReleased {};

struct FetchOutcome {
  VersionNumber version = 0;
  ContentDigest identity;  // of the content, the same on all ranks; none: digests are off
  uint64_t bytes_read = 0;
  uint64_t bytes_skipped = 0;
  bool one_sided = false;
  std::string way;  // PathKnown's, of the last source that bytes came from; empty: none came
  std::string sources;
};
struct VerbDone {
  absl::Status status;
  FetchOutcome fetch;
};
// For progress bars; at most every 100 ms, and at the end.
struct FetchAdvanced {
  VersionNumber version = 0;
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
                 SelfTestReceive, MoveSession, SendMessage, SendData, SendDescription, CopyIn,
                 ImportMemory, Get, GetWord, CloseGets, HashChunks, MakeReadPlan, SetControlWord,
                 ReadersAbandoned, CopyWanted, CopyReleased, VerbDone, FetchAdvanced, LogLine>;
// To be carried out in this order.
using Effects = std::vector<Effect>;

// What the agent reports when a session opens (R8).
struct StateReport {
  GroupEpoch epoch = {};         // its group's, as it was told last
  GroupEpoch joined_epoch = {};  // as it was told first
  std::optional<protocol::Holding> holding;
  std::optional<protocol::OpenFetch> open_fetch;
  OpId abandoned_join_op = 0;  // as in Heartbeat
  // The call that has not been answered, and is repeated when the session is up; 0: none.
  OpId repeats = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_EFFECTS_H_
