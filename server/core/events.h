// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What goes into the hub's state machine (what comes out: effects.h): plain data. Workers say and
// ask it in the words of protocol/messages. Times are milliseconds of a monotonic clock that the
// caller reads; the core never does.

#ifndef TENSORHUB_SERVER_CORE_EVENTS_H_
#define TENSORHUB_SERVER_CORE_EVENTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "common/layout.h"
#include "common/sharding_id.h"
#include "common/time.h"
#include "protocol/messages/calls.h"
#include "protocol/messages/reports.h"

namespace tensorhub::hub {

// The shell's handle for a call that waits for a reply; each is replied to exactly once.
using CallId = uint64_t;
// The shell's handle for an open session stream; never reused. 0: none.
using SessionId = uint64_t;

// --- sessions -----------------------------------------------------------------------------------

using protocol::Holding;
using protocol::OpenFetch;
using protocol::OpenStream;

struct SessionOpened : protocol::OpenSession {
  using Said = protocol::OpenSession;
  SessionId session = 0;
  // R9: whose session it is may publish the model, and so is believed what has become visible.
  bool may_publish = true;
};

struct SessionClosed {
  SessionId session = 0;
};

// What a worker says within its session (no reply).
template <typename Message>
struct FromSession : Message {
  using Said = Message;
  SessionId session = 0;
};
using Heartbeat = FromSession<protocol::Heartbeat>;
using Progress = FromSession<protocol::Progress>;
using SourceReleased = FromSession<protocol::SourceReleased>;
using SourceFailed = FromSession<protocol::SourceFailed>;
using SourceSilent = FromSession<protocol::SourceSilent>;
using ProbeAnswer = FromSession<protocol::ProbeAnswer>;
using ContentHashed = FromSession<protocol::ContentHashed>;
using CopyFailed = FromSession<protocol::CopyFailed>;
using BoxesHashed = FromSession<protocol::BoxesHashed>;

// --- operations: unary calls, idempotent through (incarnation, op) ------------------------------

struct Operation {
  CallId call = 0;
  WorkerIdentity worker;
  OpId op = 0;
};

template <typename Message>
struct OperationOf : Operation, Message {
  using Said = Message;
};
using PublishOp = OperationOf<protocol::Publish>;
using UnpublishOp = OperationOf<protocol::Unpublish>;
using JoinFetchOp = OperationOf<protocol::JoinFetch>;
using BeginReadOp = OperationOf<protocol::BeginRead>;
using FinishReadOp = OperationOf<protocol::FinishRead>;
using LeaveOp = OperationOf<protocol::Leave>;
using ReadStart = protocol::BeginRead;

// --- calls that change nothing -------------------------------------------------------------------

struct WaitOp {
  CallId call = 0;
  std::string model;
  // Replied to once `latest` > newer_than, and, with max_lag, once it is more than max_lag
  // versions (counted in visible versions) ahead of newer_than.
  VersionNumber newer_than = 0;
  std::optional<TermNumber> held_in;  // as in JoinFetch
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

// Boxes that several ranks hold alike, in the order of the first rank's layout. Of each, who holds
// it: which entry of that rank's layout it is.
struct EqualBoxes {
  struct Holder {
    Rank rank = 0;
    uint32_t entry = 0;
  };
  std::vector<Holder> holders;
  std::vector<size_t> ends;  // in `holders`, by box

  size_t size() const { return ends.size(); }
  std::span<const Holder> of(size_t box) const {
    const size_t begin = box == 0 ? 0 : ends[box - 1];
    return std::span(holders).subspan(begin, ends[box] - begin);
  }
};

// The answer to PlanWanted.
struct PlanMade {
  PlanKey plan;
  absl::Status status;  // why it cannot be read so
  PartsByRank parts;
  bool full = false;         // the readers have, together, all that is read from
  std::string missing = {};  // what they have not, for people
  EqualBoxes equal;          // instead of all that, where nothing is to be read
};

// The caller hung up; no reply is wanted. A fetch that waits for others leaves its transaction.
struct CallCancelled {
  CallId call = 0;
};

// Time passed; nothing else happened.
struct Tick {};

using Event =
    std::variant<SessionOpened, SessionClosed, Heartbeat, Progress, SourceReleased, SourceFailed,
                 SourceSilent, ProbeAnswer, ContentHashed, CopyFailed, BoxesHashed, PublishOp,
                 UnpublishOp, JoinFetchOp, BeginReadOp, FinishReadOp, LeaveOp, WaitOp, PutLayoutOp,
                 PutAttachmentOp, RetainOp, PinOp, UnpinOp, SupersedeOp, DrainOp, AdoptOp, PlanMade,
                 CallCancelled, Tick>;

// A worker's call, and what it says in its session.
inline Event Asked(const Operation& by, const protocol::Request& request) {
  return std::visit(
      [&by]<typename Message>(const Message& said) -> Event {
        return OperationOf<Message>{by, said};
      },
      request);
}
inline Event Heard(const protocol::WorkerMessage& message, SessionId session) {
  return std::visit(
      [session]<typename Message>(const Message& said) -> Event {
        return FromSession<Message>{said, session};
      },
      message);
}

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_EVENTS_H_
