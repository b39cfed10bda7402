// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What comes out of the hub's state machine, for the shell to carry out in order: plain data, like
// what goes in (events.h).

#ifndef TENSORHUB_SERVER_CORE_EFFECTS_H_
#define TENSORHUB_SERVER_CORE_EFFECTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "common/location.h"
#include "common/time.h"
#include "protocol/messages/directives.h"
#include "server/core/durable.h"
#include "server/core/events.h"

namespace tensorhub::hub {

// R1: who can say what is wrong with another content: a holder of the shard, which has its digests.
struct ComparedWith {
  WorkerIdentity holder;  // incarnation 0: nobody to ask
  std::string endpoint;
  Generation generation = 0;
  Capability capability = {};  // R9: for its digests
};
struct PublishReply {
  PublicationId publication;
  uint64_t chunk_bytes = 0;
  bool visible = false;
  GroupEpoch epoch = {};
  Term term = {};  // in which it is published
  // Not published yet: the number has a content already. Publish again with the digest of these
  // bytes, cut into chunks of that size.
  bool compare = false;
  ComparedWith with = {};
};
struct UnpublishReply {
  bool drained = false;  // false: the time ran out; raise the generation all the same
  uint32_t readers_left = 0;
  bool begun = false;  // then_read; if not, BeginRead says why
};
struct FetchDecision {
  TransactionId transaction;
  PublicationId publication;
  VersionNumber version = 0;
  uint32_t world_size = 0;
  uint64_t chunk_bytes = 0;
  Fingerprint attachment;
  Term term = {};             // in which it was published
  bool already_held = false;  // this rank holds it whole: FinishRead(OK) without reading
  ShardingRef sharding = {};  // by which this group reads it; none: as it was published
};
struct FinishReadReply {  // with every outcome, also with one that is an error
  VersionNumber version = 0;
  ContentDigest identity = {};  // of what was fetched; none: not known
};
struct WaitReply {
  VersionNumber version = 0;
};
// How far a worker is from being out of service.
struct DrainReply {
  uint32_t readers = 0;                // that count at what it holds
  std::optional<VersionNumber> holds;  // none: nothing
  bool alone = false;                  // nobody else in service holds its shard of that whole
  // R7: why that must not be lost, and would be with it; none: it may go.
  std::vector<std::string> wanted = {};
  std::string copier = {};   // the group that was asked for a copy of it
  std::string no_copy = {};  // why the last one that was asked makes none
};

struct Reply {
  CallId call = 0;
  absl::Status status;
  std::variant<std::monostate, PublishReply, UnpublishReply, FetchDecision, FinishReadReply,
               WaitReply, DrainReply>
      payload;
};

// What is said to a worker within its session.
using protocol::AbortRead;
using protocol::Assign;
using protocol::Dropped;
using protocol::EndStream;
using protocol::GroupChanged;
using protocol::MakeCopy;
using protocol::Probe;
using protocol::ReleaseCopy;
using protocol::SourceSharding;
using protocol::Superseded;
using protocol::Visible;
using protocol::Welcome;

struct Directive {
  SessionId session = 0;
  protocol::HubMessage body;
};

// Ends a session, also one that was just opened. The shell ends the stream with this status.
struct CloseSession {
  SessionId session = 0;
  absl::Status status;
};

// Whether a group that cuts the model in another way can read it so, and which ranks' shards each
// of its ranks needs. The answer is PlanMade: it takes longer than the hub may stand still.
struct PlanWanted {
  PlanKey plan;
  std::vector<Fingerprint> from;  // layouts by rank, which the hub has
  std::vector<Fingerprint> to;
};

// For watchers of a model, in order of `revision` (one sequence per model).
struct ModelChange {
  enum class Kind {
    kVersionVisible,
    kVersionGone,
    kTermBegun,  // by `group`, with `version` (R2)
    kReplicaComplete,
    kReplicaGone,
    kWorkerJoined,
    kWorkerLeft
  };
  std::string model;
  uint64_t revision = 0;
  Kind kind = Kind::kVersionVisible;
  VersionNumber version = 0;
  std::string group;
};

struct LogLine {
  enum class Level { kDebug, kInfo, kWarning };
  Level level = Level::kInfo;
  std::string text;
};

// A Persist is the first effect of its event; the shell keeps its rows before it carries out what
// follows, of this event and of later ones.
using Effect =
    std::variant<Persist, Reply, Directive, CloseSession, ModelChange, LogLine, PlanWanted>;
// To be carried out in this order.
using Effects = std::vector<Effect>;

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_EFFECTS_H_
