// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Calls: what a worker asks of its hub, and the replies. They are idempotent by the caller's
// incarnation and the number of its call, which are said beside them. Plain data, the same for both
// cores, both shells and the simulator; protocol/codec writes and reads it. Times are in
// milliseconds.

#ifndef TENSORHUB_PROTOCOL_MESSAGES_CALLS_H_
#define TENSORHUB_PROTOCOL_MESSAGES_CALLS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "common/capability.h"
#include "common/content_identity.h"
#include "common/ids.h"
#include "common/sharding_id.h"
#include "common/time.h"

namespace tensorhub::protocol {

// Fingerprints that the hub does not know are FAILED_PRECONDITION; PutLayout and repeat.
struct Publish {
  VersionNumber version = 0;
  Fingerprint layout = {};
  Fingerprint attachment = {};
  uint64_t chunk_bytes = 0;  // what this publisher proposes; the first publisher's holds
  Generation generation = 0;
  bool wait_for_group = false;
  bool supersede = false;  // begins a new term with this version (R2)
  // The latest term that this process knew when it came, or of what it has published or read since.
  // None: it does not say.
  std::optional<TermNumber> knows_term = {};
  TimeMs timeout_ms = 0;    // of wait_for_group, and of waiting to be compared (R1)
  std::string medium = {};  // for people
  // R1: it makes digests, and says later what they give (ContentHashed).
  bool hashes = false;
  // What these bytes give, cut as that publication is (PublishReply::compare); none: not compared.
  ContentDigest digest = {};
  PublicationId compared = {};
};

// A reader's buffers are free and have this generation: sources may be assigned.
struct BeginRead {
  TransactionId transaction = {};
  Generation generation = 0;
  std::string medium = {};  // for people
};

// Closes admission at once; replied to when no reader is left, or drain_ms later. R7: if this is
// the last copy of a wanted shard, only once somebody else keeps one; RESOURCE_EXHAUSTED, and
// admission is open as before, if there is nobody after drain_ms.
struct Unpublish {
  Generation generation = 0;
  TimeMs drain_ms = 0;
  bool leaving = false;  // after drain_ms it goes in any case
  bool force = false;    // whatever is lost
  // The fetch into these buffers: begun in the event that frees them, if the caller still waits
  // and BeginRead would be OK.
  std::optional<BeginRead> then_read = {};
};

struct JoinFetch {
  VersionSelector selector = {};
  Fingerprint layout = {};
  TimeMs timeout_ms = 0;
  // R2: for kNewerThan, the term of the version that it names, if that is what the worker held
  // last.
  std::optional<TermNumber> held_in = {};
  // Refused if the version has what the group does not. By any rank: then for all of them.
  bool whole = false;
};

// The rank is done: `result` OK means that all its chunks are valid. Replied to with the
// transaction's outcome, the same for every rank.
struct FinishRead {
  TransactionId transaction = {};
  absl::Status result = {};
  ContentDigest digest = {};  // of the shard that it holds then; none: not known
};

struct Leave {};

using Request = std::variant<Publish, Unpublish, JoinFetch, BeginRead, FinishRead, Leave>;

// --- replies -------------------------------------------------------------------------------------

// R1: who can say what is wrong with another content: a holder of the shard, which has its digests.
struct ComparedWith {
  WorkerIdentity holder = {};  // incarnation 0: nobody to ask
  std::string endpoint = {};
  Generation generation = 0;
  Capability capability = {};  // R9: for its digests
};
struct PublishReply {
  PublicationId publication = {};
  uint64_t chunk_bytes = 0;
  bool visible = false;
  GroupEpoch epoch = {};  // to which this publish belongs
  Term term = {};         // in which it is published
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
  TransactionId transaction = {};
  PublicationId publication = {};
  VersionNumber version = 0;
  uint32_t world_size = 0;
  uint64_t chunk_bytes = 0;
  Fingerprint attachment = {};
  Term term = {};             // in which it was published
  bool already_held = false;  // this rank holds it whole: FinishRead(OK) without reading
  // How this group reads it, and what world_size and chunk_bytes are of; none: as it was published.
  ShardingRef sharding = {};
};
struct FinishReadReply {  // with every outcome, also with one that is an error
  VersionNumber version = 0;
  ContentDigest identity = {};  // of what was fetched; none: not known
};

// BeginRead and Leave have none.
using Answer =
    std::variant<std::monostate, PublishReply, UnpublishReply, FetchDecision, FinishReadReply>;

}  // namespace tensorhub::protocol

#endif  // TENSORHUB_PROTOCOL_MESSAGES_CALLS_H_
