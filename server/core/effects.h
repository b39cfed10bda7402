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
#include "common/time.h"
#include "protocol/messages/calls.h"
#include "protocol/messages/directives.h"
#include "server/core/durable.h"
#include "server/core/events.h"

namespace tensorhub::hub {

using protocol::ComparedWith;
using protocol::FetchDecision;
using protocol::FinishReadReply;
using protocol::PublishReply;
using protocol::UnpublishReply;

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
using protocol::HashBoxes;
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
// of its ranks needs. With nothing to read from: which boxes the ranks hold alike. The answer is
// PlanMade: it takes longer than the hub may stand still.
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
